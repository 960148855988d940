"""Measures the data pipeline: long histories on Spark, and a lake of many small runs.

    .venv/bin/python -m bench.pipeline                                  # everything; an hour
    .venv/bin/python -m bench.pipeline --records 1000000 --runs 200     # small

Each history is ingested and judged in a process of its own; the local engine judges the same file
for comparison. Uneven stages are printed, by the figures of Spark: those that read more than a
million rows in one task, and those whose longest task takes more than twice the median.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import Any

from bench.checker_histories import log_history
from bench.stages import Stage, stages

DATA = Path("bench-pipeline")
_FILES: dict[str, dict[str, Any]] = {
    "honest": {},
    "planted": {"planted": True},
    "hot": {"hot": 0.9, "planted": True},
}
_ROWS_MANY = 1_000_000
_SHORT_S = 1.0
"""A stage whose longest task is shorter does not count as uneven."""


def history(records: int, file: str) -> Path:
    """The history, made once by another process: making it needs more memory than judging it."""
    place = DATA / f"{file}-{records}"
    if not (place / "history.parquet" / "ops.parquet").is_file():
        subprocess.run(
            [sys.executable, "-m", "bench.pipeline", "--make", file, str(records)], check=True
        )
    return place


def make(file: str, records: int) -> None:
    from harness.history.parquet import write_parquet

    place = DATA / f"{file}-{records}" / "history.parquet"
    place.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(log_history(records, **_FILES[file]), place)


def judged_on_spark(place: Path, master: str, memory: str) -> None:
    """Ingest and judge on Spark; prints one JSON line."""
    from pipeline.check.job import judge_runs
    from pipeline.ingest import ingest
    from pipeline.lake import Lake
    from pipeline.reading.listing import named
    from pipeline.session import SparkSettings, spark_session

    root = DATA / "lake"
    shutil.rmtree(root, ignore_errors=True)
    settings = SparkSettings(master=master, driver_memory=memory, log=DATA / "spark.log")
    begun = monotonic()
    with spark_session(settings) as spark:
        session_s = monotonic() - begun
        lake = Lake(spark, str(root))
        ingest(lake, named([place]), model="kafka")
        ingest_s = monotonic() - begun - session_s
        lake.refresh()
        checked = judge_runs(lake)
        check_s = monotonic() - begun - session_s - ingest_s
        lake.refresh()
        types = sorted({row["type"] for row in lake.table("anomalies").select("type").collect()})
        found = list(stages(spark))
    shutil.rmtree(root)
    print(
        json.dumps(
            {
                "session_s": session_s,
                "ingest_s": ingest_s,
                "check_s": check_s,
                "verdicts": list(checked.verdicts.values()),
                "uncut": list(checked.uncut.values()),
                "types": types,
                "stages": [str(each) for each in found],
                "uneven": [str(each) for each in found if is_uneven(each)],
            }
        )
    )


def is_uneven(stage: Stage) -> bool:
    alone = len(stage.seconds) == 1 and stage.rows > _ROWS_MANY
    return alone or (
        len(stage.seconds) > 1 and max(stage.seconds) > _SHORT_S and stage.unevenness > 2
    )


def judged_here(place: Path) -> None:
    """Judge by the local engine; prints one JSON line."""
    from checkers.models import Question, judge
    from checkers.stored import StoredHistory

    begun = monotonic()
    verdict = judge(StoredHistory(place / "history.parquet"), "kafka", Question())
    types = sorted({each.type for each in verdict.found})
    seconds = monotonic() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found = {"seconds": seconds, "verdict": verdict.validity.value, "types": types, "bytes": peak}
    print(json.dumps(found))


def apart(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.pipeline", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def long_histories(counts: list[int], masters: list[str], memory: str) -> None:
    for file in _FILES:
        for records in counts:
            place = history(records, file)
            here = apart("--here", str(place))
            print(
                f"{file:8} {records:>11,} records  local engine {here['seconds']:7.1f} s  "
                f"{here['verdict']}  {here['bytes'] / 1e9:.1f} GB at most",
                flush=True,
            )
            for master in masters:
                found = apart("--spark", str(place), master, memory)
                same = found["types"] == here["types"] and found["verdicts"] == [here["verdict"]]
                print(
                    f"{file:8} {records:>11,} records  {master:12} "
                    f"{found['check_s']:7.1f} s check  "
                    f"{found['ingest_s']:7.1f} s ingest  {found['session_s']:5.1f} s session  "
                    f"{found['verdicts'][0]}  {'same types' if same else 'OTHER TYPES'}"
                    f"{''.join(f'  whole: {why}' for why in found['uncut'])}",
                    flush=True,
                )
                for each in found["uneven"]:
                    print(f"         {each}", flush=True)


def small_runs(count: int, master: str, memory: str) -> None:
    """A lake of copied runs: ingest, check, tables."""
    from pipeline.check.job import judge_runs
    from pipeline.figures.store import FigureStore
    from pipeline.ingest import ingest
    from pipeline.lake import Lake
    from pipeline.reading.listing import stored
    from pipeline.session import SparkSettings, spark_session
    from tests.pipeline.made_store import many_runs

    store, root = DATA / f"store-{count}", DATA / "lake-of-runs"
    if not store.is_dir():
        many_runs(store, count)
    shutil.rmtree(root, ignore_errors=True)
    settings = SparkSettings(master=master, driver_memory=memory, log=DATA / "spark.log")
    with spark_session(settings) as spark:
        lake = Lake(spark, str(root))
        begun = monotonic()
        done = ingest(lake, stored(store), model="kafka")
        print(f"{len(done.taken):,} runs  ingest {monotonic() - begun:7.1f} s", flush=True)
        lake.refresh()
        begun = monotonic()
        checked = judge_runs(lake)
        print(f"{len(checked.verdicts):,} runs  check  {monotonic() - begun:7.1f} s", flush=True)
        lake.refresh()
        begun = monotonic()
        figures = sum(1 for _ in FigureStore(lake).rewrite())
        print(f"{figures:,} figures     tables {monotonic() - begun:7.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs="*", default=[10_000_000, 100_000_000])
    parser.add_argument("--masters", nargs="*", default=["local[1]", "local[2]"])
    parser.add_argument("--memory", default="6g")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--here", help=argparse.SUPPRESS)
    parser.add_argument("--spark", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    DATA.mkdir(exist_ok=True)
    if given.make:
        make(given.make[0], int(given.make[1]))
    elif given.here:
        judged_here(Path(given.here))
    elif given.spark:
        judged_on_spark(Path(given.spark[0]), *given.spark[1:])
    else:
        long_histories(given.records, given.masters, given.memory)
        if given.runs:
            small_runs(given.runs, given.masters[-1], given.memory)


if __name__ == "__main__":
    main()
