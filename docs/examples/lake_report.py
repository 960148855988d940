"""Questions to a lake of runs, asked by a job of Spark: docs/guides/lake.md shows the answers.

spark-submit docs/examples/lake_report.py lake
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pipeline.figures.store import FigureStore
from pipeline.lake import Lake

QUESTIONS = {
    "Which runs are invalid, and by what?": """
        SELECT r.name, r.seed, r.acks, a.type, a.findings
        FROM runs r JOIN anomaly_counts a USING (run)
        WHERE a.promise = 'never'
        ORDER BY r.began, a.type
    """,
    "Which faults kept clients waiting longest?": """
        SELECT nemesis, count(*) AS faults,
               round(percentile(served_longest_s, 0.5), 3) AS median_s,
               round(max(served_longest_s), 3) AS longest_s
        FROM recovery GROUP BY nemesis ORDER BY longest_s DESC
    """,
    "How often do transactions fail?": """
        SELECT r.workload, o.type, count(*) AS operations
        FROM operations o JOIN runs r USING (run)
        WHERE o.f = 'txn' AND o.type <> 'invoke'
        GROUP BY r.workload, o.type ORDER BY r.workload, operations DESC
    """,
}


def main(root: str) -> None:
    spark = SparkSession.builder.appName("lake report").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    lake = Lake(spark, root)
    lake.require()
    figures = FigureStore(lake)
    figures.require()
    lake.views()
    figures.views()
    for question, query in QUESTIONS.items():
        print(question)
        spark.sql(query).show(20, truncate=60)

    print("Which partitions were hot, and how far did their readers fall behind?")
    hot = figures.read("load").where("is_hot").select("run", "partition", "share")
    behind = figures.read("lag").select("run", "partition", "lag_max")
    hot.join(behind, ["run", "partition"]).orderBy(F.desc("share")).show(20, truncate=60)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "lake")
