"""How fast checkers judge: from Parquet on disk to a verdict, and what of it is the reading.

    python bench/checkers.py [--records 100000000] [--transactions 5000000] [--keep DIRECTORY]

Histories of logs have 64 partitions, 50 processes, completions out of order, 2 % info, 1 % fail;
every record is polled by two consumers; all anomalies of the model run. `records` are those sent
and those polled. Compiling is timed apart. `pyarrow` is what it alone needs to read the columns
that are judged, on all its threads; `load` reads them for the checkers, `check` is what follows.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

# Before this directory, where a module has the name of each package.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]

from bench import porcupine
from bench.checker_histories import kept, list_history, log_history, register_history
from checkers import kernels
from checkers.columns import Columns
from checkers.linear.calls import calls
from checkers.linear.keyed import register_steps
from checkers.linear.registers import Codes
from checkers.linear.search import Search
from checkers.models import Question, judge
from checkers.parts import THREADS
from checkers.stored import StoredHistory
from harness.history.history import History

SMALL = {"kafka": "log-small", "list-append": "lists-small"}


class Spent(NamedTuple):
    """Seconds by the clock, and of all processors together."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:6.2f} s (CPU {self.cpu:5.2f})"


ROOM = 64
"""Bytes that reading, or judging, a record may take."""
TOUCH = "import sys, numpy; numpy.ones(int(sys.argv[1]), numpy.int8)"


def take_from_host(size: int) -> None:
    """The host of a virtual machine takes back what is not in use, and gives it again far more
    slowly than a kernel does: up to two seconds for a gigabyte, by which nothing here is to be
    timed. What was in use a moment ago is still there."""
    if size:
        subprocess.run([sys.executable, "-c", TOUCH, str(size)], check=True)


def timed(work: Callable[[], object], room: int = 0) -> tuple[Spent, object]:
    gc.collect()
    take_from_host(room)
    cpu, begun = time.process_time(), time.perf_counter()
    done = work()
    return Spent(time.perf_counter() - begun, time.process_time() - cpu), done


def read_columns(path: Path) -> None:
    """What pyarrow alone needs for the same columns."""
    pq.read_table(path / "ops.parquet", columns=["index", "time", "process", "type", "f"])
    pq.read_table(
        path / "elements.parquet", columns=["op", "kind", "key", "offset", "value", "boxed"]
    )


def reading_apart(path: Path, room: int) -> Spent:
    """In a process of its own: what pyarrow keeps of its memory is not the checkers'."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(reading_time, path, room).result()


def reading_time(path: Path, room: int) -> Spent:
    return timed(partial(read_columns, path), room)[0]


def peak_gigabytes() -> float:
    """Of this process alone: what getrusage says, a child inherits."""
    status = Path("/proc/self/status").read_text()
    return float(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e9


def told_apart(model: str, path: Path, count: int) -> None:
    """In a process of its own, whose memory nothing else has swollen."""
    command = [sys.executable, __file__, "--judge", model, str(path), str(count)]
    subprocess.run(command, check=True)


def told(model: str, path: Path, count: int) -> None:
    unit = "records" if model == "kafka" else "transactions"
    room = ROOM * count
    reading = reading_apart(path, room)
    history = StoredHistory(path)
    loading, _ = timed(lambda: history.columns, room)
    checking, result = timed(lambda: judge(history, model, Question()), room)
    verdict = result.as_json()  # type: ignore[attr-defined]
    print(
        f"{model:12} {count:>11,} {unit:12} pyarrow {reading}  load {loading}  "
        f"check {checking}  {count / checking.wall / 1e6:7.1f} M {unit}/s  "
        f"total {loading.wall + checking.wall:6.2f} s  peak {peak_gigabytes():5.1f} GB  "
        f"{verdict['valid']} {','.join(verdict['anomaly-types'])}{verdict['stats'].get('why', '')}",
        flush=True,
    )


def compiled_cold(model: str, small: Path, little: int = kernels.LITTLE) -> float:
    """Seconds by the clock for a first verdict, in a process of its own with nothing compiled; what
    the verdict itself takes is a small part of it."""
    script = f"""
import time
from pathlib import Path
from checkers import kernels
from checkers.models import Question, judge
from checkers.stored import StoredHistory
kernels.LITTLE = {little}
begun = time.perf_counter()
judge(StoredHistory(Path({str(small)!r})), {model!r}, Question())
print(time.perf_counter() - begun)
"""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "NUMBA_CACHE_DIR": cache},
        )
    return float(done.stdout)


def search_register() -> None:
    rows = register_history(30_000, 10)
    history = History.of(rows)
    question = Question(failed_cas="asserts", null_read="asserts")
    codes = Codes()
    initial = codes.of(None)
    steps = register_steps(calls(Columns(history), "read", "write", "cas"), question, codes)[None]
    search = Search(steps, initial)
    search.run(question.budget)
    best = min(timed(lambda: search.run(question.budget))[0].wall for _ in range(5))
    whole, _ = timed(lambda: judge(history, "cas-register", question))
    print(f"cas-register      30,000 ops at 10 processes: search {best * 1e3:.1f} ms, "
          f"with all around it {whole.wall * 1e3:.0f} ms")  # fmt: skip
    print(porcupine.compared(rows, best), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=100_000_000)
    parser.add_argument("--transactions", type=int, default=5_000_000)
    parser.add_argument("--judge", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help="keep the histories there, for the next time")
    options = parser.parse_args()
    if options.judge:
        model, path, count = options.judge
        # A small history has little to do for some kernels; here they are to be compiled.
        kernels.LITTLE, little = 0, kernels.LITTLE
        warm = judge(StoredHistory(Path(path).parent / SMALL[model]), model, Question())
        assert warm.validity is not None
        kernels.LITTLE = little
        told(model, Path(path), int(count))
        return
    with tempfile.TemporaryDirectory() as scratch:
        directory = options.keep or Path(scratch)
        small = kept(directory, SMALL["kafka"], lambda: log_history(500_000, planted=True))
        lists = kept(directory, SMALL["list-append"], lambda: list_history(5_000))
        colds = (compiled_cold("kafka", small), compiled_cold("list-append", lists))
        every = compiled_cold("kafka", small, 0)
        print(f"the first verdict with nothing compiled: kafka {colds[0]:.1f} s, list-append "
              f"{colds[1]:.1f} s; with every kernel {every:.1f} s", flush=True)  # fmt: skip
        print(f"pyarrow reads with {pa.cpu_count()} threads, checkers judge with {THREADS}; "
              "times by the clock, in brackets those of all processors", flush=True)  # fmt: skip
        search_register()
        for records in (1_000_000, 10_000_000, options.records):
            if records <= options.records:
                for planted in (False, True):
                    name = f"log-{records}{'-planted' if planted else ''}"
                    path = kept(
                        directory, name, lambda r=records, p=planted: log_history(r, planted=p)
                    )
                    told_apart("kafka", path, records)
        for count in (500_000, options.transactions):
            if count <= options.transactions:
                path = kept(directory, f"lists-{count}", partial(list_history, count))
                told_apart("list-append", path, count)


if __name__ == "__main__":
    main()
