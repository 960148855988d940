"""The check of the lake as users run it on a cluster; prints the verdicts as JSON.

`python -m tests.pipeline.standalone_job MASTER` takes histories into ./lake and judges them, one of
them in parts. It says `under way` once the first task of the judgement is done.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

RUNS = 8
RECORDS = 2_000
LONG = 30_000
"""Records of the last run."""
_WHOLE_MAX = 20_000
_WIDTH = 4_096


def history(number: int) -> str:
    """Sends and polls of one log; in every third run a record that was acknowledged is missing,
    in every fifth one comes twice. Both are so in the last one."""
    is_last = number == RUNS - 1
    count = LONG if is_last else RECORDS
    rows: list[dict[str, Any]] = []
    lost = count // 2 if is_last or number % 3 == 0 else None
    twice = count // 3 if is_last or number % 5 == 0 else None
    polled = []
    for value in range(count):
        rows += [
            {"process": 0, "type": "invoke", "f": "send", "value": [["send", "x-0", value]]},
            {"process": 0, "type": "ok", "f": "send", "value": [["send", "x-0", [value, value]]]},
        ]
        if value != lost:
            polled.append([value, twice if value == count - 1 and twice is not None else value])
    rows += [
        {"process": 1, "type": "invoke", "f": "assign", "value": ["x-0"]},
        {"process": 1, "type": "ok", "f": "assign", "value": ["x-0"]},
        {"process": 1, "type": "invoke", "f": "poll", "value": [["poll"]]},
        {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"x-0": polled}]]},
    ]
    return "\n".join(json.dumps(row) for row in rows)


def write_histories(place: Path) -> list[Path]:
    place.mkdir()
    paths = [place / f"{number}.jsonl" for number in range(RUNS)]
    for number, path in enumerate(paths):
        path.write_text(history(number))
    return paths


def _say_when_under_way(tracker: Any, ended: threading.Event) -> None:
    while not ended.wait(0.02):
        infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(info and info.numCompletedTasks for info in infos):
            print("under way", flush=True)  # noqa: T201 - the test waits for it
            return


def main(master: str) -> None:
    from pipeline.check.job import judge_runs
    from pipeline.ingest import ingest
    from pipeline.lake import Lake
    from pipeline.reading.listing import named
    from pipeline.session import SparkSettings, spark_session

    more = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.sql.shuffle.partitions": "12",
    }
    log = Path("driver.log").absolute()
    with spark_session(SparkSettings(master=master, log=log, more=more)) as spark:
        lake = Lake(spark, str(Path("lake").absolute()))
        ingest(lake, named(write_histories(Path("histories").absolute())), model="kafka")
        lake.refresh()
        ended = threading.Event()
        tracker = spark.sparkContext.statusTracker()
        saying = threading.Thread(target=_say_when_under_way, args=(tracker, ended))
        saying.start()
        try:
            checked = judge_runs(lake, whole_max=_WHOLE_MAX, width=_WIDTH)
        finally:
            ended.set()
            saying.join()
        lake.refresh()
        types: dict[str, set[str]] = {run: set() for run in checked.verdicts}
        for row in lake.table("anomalies").select("run", "type").collect():
            types[row["run"]].add(row["type"])
        executors = spark._jsc.sc().statusTracker().getExecutorInfos()
        sources = {row["run"]: row["source"] for row in lake.table("runs").collect()}
        found = {
            Path(sources[run]).stem: [verdict, *sorted(types[run])]
            for run, verdict in checked.verdicts.items()
        }
        summary = {"verdicts": found, "uncut": checked.uncut, "executors": len(executors) - 1}
        print(json.dumps(summary))  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(sys.argv[1])
