"""A job as users write it: judges histories on a master, prints the verdicts as JSON.

`python -m tests.pipeline.standalone_job MASTER` says `under way` once the first task is done, and
waits for a line of its standard input then.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

RUNS = 24
TASKS = 12
RECORDS = 3_000


def history(number: int) -> str:
    """Sends and polls of one log; in every third run a record that was acknowledged is missing,
    in every fifth one comes twice."""
    rows: list[dict[str, Any]] = []
    lost = RECORDS // 2 if number % 3 == 0 else None
    twice = RECORDS // 3 if number % 5 == 0 else None
    polled = []
    for value in range(RECORDS):
        rows += [
            {"process": 0, "type": "invoke", "f": "send", "value": [["send", "x-0", value]]},
            {"process": 0, "type": "ok", "f": "send", "value": [["send", "x-0", [value, value]]]},
        ]
        if value != lost:
            polled.append([value, twice if value == RECORDS - 1 and twice is not None else value])
    rows += [
        {"process": 1, "type": "invoke", "f": "assign", "value": ["x-0"]},
        {"process": 1, "type": "ok", "f": "assign", "value": ["x-0"]},
        {"process": 1, "type": "invoke", "f": "poll", "value": [["poll"]]},
        {"process": 1, "type": "ok", "f": "poll", "value": [["poll", {"x-0": polled}]]},
    ]
    return "\n".join(json.dumps(row) for row in rows)


def verdict(text: str) -> list[str]:
    """The verdict and the types of its anomalies."""
    from checkers.models import Question, judge
    from harness.history.history import History

    with TemporaryDirectory() as directory:
        path = Path(directory) / "history.jsonl"
        path.write_text(text)
        found = judge(History.load(path), "kafka", Question())
    return [found.validity.value, *sorted({each.type for each in found.anomalies})]


def verdicts(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

    for batch in batches:
        found = [verdict(text.as_py()) for text in batch.column("history")]
        yield pa.RecordBatch.from_pydict({"run": batch.column("run"), "verdict": found})


def _say_when_under_way(tracker: Any, ended: threading.Event) -> None:
    while not ended.wait(0.02):
        infos = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        if any(info and info.numTasks == TASKS and info.numCompletedTasks for info in infos):
            print("under way", flush=True)  # noqa: T201 - the test waits for it
            return


def main(master: str) -> None:
    from pipeline.session import SparkSettings, spark_session

    more = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    }
    log = Path("driver.log").absolute()
    with spark_session(SparkSettings(master=master, log=log, more=more)) as spark:
        texts = [(number, history(number)) for number in range(RUNS)]
        numbers = spark.createDataFrame(texts, "run int, history string")
        ended = threading.Event()
        tracker = spark.sparkContext.statusTracker()
        saying = threading.Thread(target=_say_when_under_way, args=(tracker, ended))
        saying.start()
        try:
            frame = numbers.repartition(TASKS, "run").mapInArrow(
                verdicts, "run int, verdict array<string>"
            )
            found = {row.run: list(row.verdict) for row in frame.collect()}
        finally:
            ended.set()
            saying.join()
        executors = spark._jsc.sc().statusTracker().getExecutorInfos()
        told = {"verdicts": found, "executors": len(executors) - 1}
        print(json.dumps(told))  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(sys.argv[1])
