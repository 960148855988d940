"""Run after run with random seeds on a busy machine: none may hang, crash or leave traces.

    python -m tests.soak --runs 50                  every nemesis at once, on netns
    python -m tests.soak --runs 100 --mix matrix    one workload, one nemesis; four in five in sim

`make soak RUNS=50` and `make soak RUNS=100 MIX=matrix` are the same. The soak makes load of its
own: a process that computes and one that writes and syncs. A run that is not over within `--bound`
seconds has hung: the stacks of all its threads are kept, then two interrupts have to end it. The
table at the end counts verdicts, and the exit code is 1 if a run hung, crashed, found an anomaly or
left something on the machine, or if more than `--unknown-max` runs are unknown.

A cell of the matrix that the harness refuses (exit code 254) is no run: the next one takes its
place.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from nemesis import NEMESES
from tests.netns import traces
from tests.run.commands import HARNESS
from workloads import WORKLOADS

ROOT = Path(__file__).parents[1]
COLUMNS = ("valid", "invalid", "unknown", "refused", "crashed", "hung", "left traces")
_WORST = ("hung", "crashed", "left traces", "invalid")
_VERDICTS = {0: "valid", 1: "invalid", 2: "unknown", 254: "refused"}
_ALL_TIME_LIMITS_S = (8, 9, 10)
_MATRIX_TIME_LIMIT_S = 15
_SIM_SHARE = 0.8
_SIM_RATE = 60
"""Operations a second: after each step of a simulated run every invariant is asked, which at the
default rate takes most of a minute."""
_UNKNOWN_SHARE = 0.02
_STACKS_WITHIN_S = 3.0
_ENDED_WITHIN_S = 60.0
"""After the second interrupt."""
_CLEARED_WITHIN_S = 20.0
_LOOK_EVERY_S = 0.5

_COMPUTES = """
import select, sys
while not select.select([sys.stdin], [], [], 0)[0]:
    sum(range(3_000_000))
"""
_WRITES = """
import os, select, sys
file, written = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 0
while not select.select([sys.stdin], [], [], 0.02)[0]:
    written += os.write(file, os.urandom(1 << 20))
    if written % (4 << 20) == 0:
        os.fdatasync(file)
    if written >= 256 << 20:
        written = os.lseek(file, 0, os.SEEK_SET)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one run is asked to do."""

    place: str
    workload: str
    nemesis: str
    time_limit_s: int
    seed: int

    @property
    def row(self) -> str:
        return f"{self.place} {self.nemesis}"

    @property
    def words(self) -> list[str]:
        return [
            *("test", "-w", self.workload, "--nemesis", self.nemesis, "--on", self.place),
            *("--time-limit", str(self.time_limit_s), "--seed", str(self.seed)),
            *(("--rate", str(_SIM_RATE)) if self.place == "sim" else ()),
        ]


@dataclass(slots=True)
class Ended:
    """What became of a run."""

    cell: Cell
    verdict: str
    took_s: float
    directory: Path
    why: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def counts(self) -> list[str]:
        return [self.verdict, *(["left traces"] if self.left else [])]

    @property
    def line(self) -> str:
        reasons = "; ".join([*self.why, *(f"left: {each}" for each in self.left)])
        reasons = f": {reasons}" if reasons else ""
        return f"{self.verdict} in {self.took_s:.0f} s: {' '.join(self.cell.words)}{reasons}"


def cells(mix: str, runs: int, dice: random.Random) -> Iterator[Iterator[Cell]]:
    """Endless streams of cells, one stream for each run: the next one is for a refused cell."""
    if mix == "all":
        for _ in range(runs):
            yield (_all(dice) for _ in itertools.count())
        return
    pairs = list(itertools.product(WORKLOADS, NEMESES))
    decks = {place: itertools.cycle(dice.sample(pairs, len(pairs))) for place in ("sim", "netns")}
    in_sim = round(runs * _SIM_SHARE)
    for place, count in (("sim", in_sim), ("netns", runs - in_sim)):
        for _ in range(count):
            yield _of_matrix(place, decks[place], dice)


def _all(dice: random.Random) -> Cell:
    return Cell(
        place="netns",
        workload=dice.choice(list(WORKLOADS)),
        nemesis="all",
        time_limit_s=dice.choice(_ALL_TIME_LIMITS_S),
        seed=dice.getrandbits(32),
    )


def _of_matrix(place: str, deck: Iterator[tuple[str, str]], dice: random.Random) -> Iterator[Cell]:
    for workload, nemesis in deck:
        yield Cell(
            place=place,
            workload=workload,
            nemesis=nemesis,
            time_limit_s=_MATRIX_TIME_LIMIT_S,
            seed=dice.getrandbits(32),
        )


def carried_out(cell: Cell, directory: Path, bound_s: float) -> Ended:
    directory.mkdir()
    begun_s = time.monotonic()
    with (directory / "out.txt").open("w") as out:
        process = subprocess.Popen(
            [*HARNESS, *cell.words],
            cwd=directory,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
    ended = Ended(cell, "hung", 0.0, directory)
    try:
        while process.poll() is None and time.monotonic() < begun_s + bound_s:
            time.sleep(_LOOK_EVERY_S)
        if process.poll() is None:
            ended.why = _interrupted(process, directory)
        else:
            ended.verdict = _VERDICTS.get(process.returncode, "crashed")
    finally:
        process.kill()
        process.wait()
    ended.took_s = time.monotonic() - begun_s
    if ended.verdict == "crashed":
        ended.why = [f"exit code {process.returncode}, {directory / 'out.txt'}"]
    elif ended.verdict in ("unknown", "invalid"):
        ended.why = _reasons(directory)
    ended.left = _left(process.pid, directory)
    return ended


def _interrupted(process: subprocess.Popen[bytes], directory: Path) -> list[str]:
    """Keeps the stacks of a run that hangs, then interrupts it twice; how that went."""
    _note_stacks(process.pid, directory)
    for _ in range(2):
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(2)
    try:
        code = process.wait(_ENDED_WITHIN_S)
    except subprocess.TimeoutExpired:
        return [f"not even two interrupts end it; {directory / 'stacks.txt'}"]
    return [f"two interrupts end it with {code}; {directory / 'stacks.txt'}"]


def _note_stacks(pid: int, directory: Path) -> None:
    """What the kernel says of every thread; a run writes the Python stacks on SIGUSR1."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGUSR1)
    time.sleep(_STACKS_WITHIN_S)
    told = []
    for thread in sorted(Path(f"/proc/{pid}/task").glob("*")):
        for name in ("comm", "wchan", "syscall", "stack"):
            with suppress(OSError):
                told.append(f"{thread.name} {name}: {(thread / name).read_text().strip()}")
    for log in directory.rglob("harness.log"):
        told.append(log.read_text())
    (directory / "stacks.txt").write_text("\n".join(told) + "\n")


def _reasons(directory: Path) -> list[str]:
    """The first doubt and the first anomaly of a run."""
    found = sorted(directory.glob("store/*/*Z/results.json"))
    if not found:
        return ["no results.json"]
    results = json.loads(found[0].read_text())
    anomalies = [
        f"{kind}: {each['because']}"
        for check in results["checks"]
        for kind, several in check["anomalies"].items()
        for each in several
    ]
    whys = [check["stats"]["why"] for check in results["checks"] if "why" in check["stats"]]
    return [*results["doubts"][:1], *anomalies[:1]] or whys[:1]


def _left(pid: int, directory: Path) -> list[str]:
    """Not namespaces: their numbers may be another run's by now. They live by their processes."""
    until_s = time.monotonic() + _CLEARED_WITHIN_S
    while found := traces.of_process(pid, directory, frozenset()):
        if time.monotonic() > until_s:
            return found
        time.sleep(0.1)
    return []


@contextmanager
def _busy_machine(directory: Path) -> Iterator[None]:
    """Each of them ends when its standard input does, so at the latest with this process."""
    commands = ([_COMPUTES], [_WRITES, str(directory / "ballast")])
    others = [
        subprocess.Popen([sys.executable, "-c", *words], stdin=subprocess.PIPE)
        for words in commands
    ]
    try:
        yield
    finally:
        for other in others:
            assert other.stdin is not None
            other.stdin.close()
            other.wait()
        (directory / "ballast").unlink(missing_ok=True)


def table(ended: Sequence[Ended]) -> str:
    """A row for each place and nemesis, and what is not valid below it, run by run."""
    rows: dict[str, Counter[str]] = {}
    for each in ended:
        rows.setdefault(each.cell.row, Counter()).update(each.counts)
    rows["total"] = sum(rows.values(), start=Counter())
    width = max(map(len, rows))
    lines = ["  ".join([" " * width, *COLUMNS])]
    for name, counts in sorted(rows.items(), key=lambda row: row[0] == "total"):
        cells = [str(counts[column] or "-").rjust(len(column)) for column in COLUMNS]
        lines.append("  ".join([name.ljust(width), *cells]))
    told = [each.line for each in ended if each.verdict not in ("valid", "refused") or each.left]
    return "\n".join([*lines, "", *told])


def is_bad(ended: Sequence[Ended], unknown_max: int) -> bool:
    counts = Counter(column for each in ended for column in each.counts)
    return any(counts[column] for column in _WORST) or counts["unknown"] > unknown_max


def soak(
    mix: str, runs: int, seed: int, *, bound_s: float, at_once: int, into: Path
) -> list[Ended]:
    numbers = itertools.count(1)

    def one(stream: Iterator[Cell]) -> list[Ended]:
        ended: list[Ended] = []
        # A matrix whose every cell is refused would go on for ever.
        for cell in itertools.islice(stream, len(WORKLOADS) * len(NEMESES)):
            ended.append(carried_out(cell, into / f"{next(numbers):03}", bound_s))
            _say(ended[-1].line)
            if ended[-1].verdict in ("valid", "refused") and not ended[-1].left:
                shutil.rmtree(ended[-1].directory)
            if ended[-1].verdict != "refused":
                break
        return ended

    streams = list(cells(mix, runs, random.Random(seed)))
    with ThreadPoolExecutor(at_once) as threads:
        return [each for several in threads.map(one, streams) for each in several]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--mix", choices=("all", "matrix"), default="all")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--bound", type=float, default=600.0, help="Seconds until a run has hung.")
    parser.add_argument("--at-once", type=int, default=1, help="Runs at the same time.")
    parser.add_argument("--unknown-max", type=int, help="By default 2 %% of a matrix.")
    parser.add_argument("--quiet-machine", action="store_true", help="Makes no load of its own.")
    parser.add_argument("--into", type=Path, help="Where runs that are not valid are kept.")
    chosen = parser.parse_args(argv)
    # In the background of a shell they are ignored, and runs would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    into = chosen.into or Path(tempfile.mkdtemp(prefix="log-trial-soak-"))
    into.mkdir(parents=True, exist_ok=True)
    _say(f"soak: {chosen.runs} runs, mix {chosen.mix}, seed {chosen.seed}, into {into}")
    with ExitStack() as stack:
        if not chosen.quiet_machine:
            stack.enter_context(_busy_machine(into))
        ended = soak(
            chosen.mix,
            chosen.runs,
            chosen.seed,
            bound_s=chosen.bound,
            at_once=chosen.at_once,
            into=into,
        )
    _say(table(ended))
    unknown_max = chosen.unknown_max
    if unknown_max is None:
        unknown_max = int(chosen.runs * _UNKNOWN_SHARE) if chosen.mix == "matrix" else chosen.runs
    return 1 if is_bad(ended, unknown_max) else 0


if __name__ == "__main__":
    sys.exit(main())
