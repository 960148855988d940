"""What it costs to record a row, and how fast a history is loaded again.

    .venv/bin/python bench/history.py [--rows 10_000_000]

Rows are invocations and completions of sends and of polls of one record, with the completions of
fifty processes out of order.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.history.history import History, finish
from harness.history.jsonl import write_jsonl
from harness.history.recorder import Recorder

_PROCESSES = 50
_KEYS = [f"orders-{partition}" for partition in range(64)]
_NESTED_ROWS_MAX = 500_000

T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--directory", type=Path, help="where to write (default: a temporary one)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.directory) as scratch:
        measure(Path(scratch), chosen.rows)


def measure(directory: Path, rows: int) -> None:
    chunks = directory / "history"
    taken, _ = _timed(lambda: record(chunks, rows))
    print(f"record   {taken.cpu_s / rows * 1e6:8.2f} us of CPU a row, flushes included")
    print(f"chunks   {_size(chunks) / rows:8.1f} bytes a row")
    print(f"memory   {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MiB at most")
    taken, history = _timed(lambda: History.load(chunks))
    _rate("load     (chunks)", rows, taken)
    assert len(history) == rows
    taken, _ = _timed(lambda: finish(chunks))
    _rate("finish   (chunks to Parquet)", rows, taken)
    print(f"parquet  {_size(directory / 'history.parquet') / rows:8.1f} bytes a row")
    taken, history = _timed(lambda: History.load(directory))
    _rate("load     (Parquet)", rows, taken)
    _measure_nested(history, directory / "history.jsonl")


def _measure_nested(history: History, path: Path) -> None:
    rows = min(len(history), _NESTED_ROWS_MAX)
    few = History(history.tables._replace(ops=history.ops.slice(0, rows)))
    taken, _ = _timed(lambda: sum(1 for _ in few))
    _rate("iterate  (nested)", rows, taken)
    taken, _ = _timed(lambda: write_jsonl(few, path))
    _rate("write    (JSON Lines)", rows, taken)
    taken, _ = _timed(lambda: History.load(path))
    _rate("load     (JSON Lines)", rows, taken)


def record(directory: Path, rows: int) -> None:
    """Of each process in turn: its completion of two rounds ago, its invocation now."""
    open_sends: list[tuple[int, str, int] | None] = [None] * _PROCESSES
    with Recorder(directory) as recorder:
        put = recorder.record
        for row in range(rows):
            process = row * 7 % _PROCESSES
            time_ns = row * 10_000 + (row * 7919 % 50_000)
            opened = open_sends[process]
            if opened is None:
                key, value = _KEYS[row % 64], process << 32 | row
                put(time_ns, process, "invoke", "send", [["send", key, value]])
                open_sends[process] = (row, key, value)
            elif row % 3:
                put(time_ns, process, "ok", "send", [["send", opened[1], [row, opened[2]]]])
                open_sends[process] = None
            else:
                put(time_ns, process, "ok", "poll", [["poll", {opened[1]: [[row, opened[2]]]}]])
                open_sends[process] = None


class Taken(NamedTuple):
    wall_s: float
    cpu_s: float


def _timed(work: Callable[[], T]) -> tuple[Taken, T]:
    began, cpu_began = time.perf_counter(), time.process_time()
    result = work()
    return Taken(time.perf_counter() - began, time.process_time() - cpu_began), result


def _rate(name: str, rows: int, taken: Taken) -> None:
    rate = rows / taken.wall_s
    print(f"{name:30} {taken.wall_s:8.2f} s, {rate:14,.0f} rows/s, {taken.cpu_s:8.2f} s of CPU")


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


if __name__ == "__main__":
    main()
