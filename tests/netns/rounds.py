"""The demo again and again, and kill -9 at any moment: what is there afterwards is what was before.

    python -m tests.netns.rounds [--demos 10] [--kills 5] [--seed N] [--shared]

Needs root, and the machine for itself: namespaces, mounts, loop devices, cgroups, firewall rules,
links and processes are compared before and after each round. With --shared, where others have
hosts at the same time, only what belongs to the round's own process is.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.netns import traces
from tests.run.commands import HARNESS, Said, harness

ROOT = Path(__file__).parents[2]
DEMO = ("--nemesis", "partition@leader", "--time-limit", "30")
DEMO_S_MAX = 90.0
"""From the return key to the prompt."""
_BROKEN = ("--nemesis", "partition,kill", "--time-limit", "60")
_CLEARED_WITHIN_S = 20.0
"""Kernels clear up behind the last process, but take their time."""
_MOMENTS_S = 45.0
"""From the start: before the hosts are up, while they come up, and well into the load."""


@dataclass(slots=True)
class Watched:
    """A run, and what it was seen to have on the machine while it lived."""

    process: subprocess.Popen[str]
    directory: Path
    namespaces: frozenset[str] = frozenset()

    def look(self) -> None:
        self.namespaces |= traces.namespaces_of(self.process.pid)

    def left(self) -> list[str]:
        until_s = time.monotonic() + _CLEARED_WITHIN_S
        while (found := self._found()) and time.monotonic() < until_s:
            time.sleep(0.1)
        return found

    def _found(self) -> list[str]:
        return traces.of_process(self.process.pid, self.directory, self.namespaces)


def started(directory: Path, *words: str) -> Watched:
    with (directory / "out.txt").open("w") as out:
        process = subprocess.Popen(
            # In the background of a shell interrupts are ignored, and children inherit that.
            ["env", "--default-signal=INT", *HARNESS, "test", *words],
            cwd=directory,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    return Watched(process, directory)


def watched_for(run: Watched, seconds: float) -> None:
    """Namespaces come and go; whoever wants to know all of them has to keep looking."""
    until_s = time.monotonic() + seconds
    while run.process.poll() is None and time.monotonic() < until_s:
        run.look()
        time.sleep(min(0.5, max(0.0, until_s - time.monotonic())))


def demo(directory: Path) -> list[str]:
    """What was wrong with it."""
    begun_s = time.monotonic()
    run = started(directory, *DEMO)
    try:
        watched_for(run, 3 * DEMO_S_MAX)
    finally:
        run.process.kill()
        run.process.wait()
    taken_s = time.monotonic() - begun_s
    out = (directory / "out.txt").read_text()
    wrong = [f"left: {each}" for each in run.left()]
    if run.process.returncode != 0:
        wrong.append(f"exit code {run.process.returncode}: {out[-1000:]}")
    if taken_s > DEMO_S_MAX:
        wrong.append(f"it took {taken_s:.0f} s")
    return wrong


def killed_and_healed(directory: Path, after_s: float, words: Sequence[str] = _BROKEN) -> list[str]:
    """What was wrong: something left, or a history that nobody can judge."""
    run = started(directory, *words)
    try:
        watched_for(run, after_s)
    finally:
        run.process.kill()
        run.process.wait()
    healed = harness("heal", cwd=directory)
    wrong = [f"left: {each}" for each in run.left()]
    if healed.exit_code != 0:
        wrong.append(f"heal: {healed}")
    if not (directory / "store" / "current").exists():
        return wrong  # it was killed before it had begun a run
    judged = harness("analyze", "current", "--json", cwd=directory)
    return wrong + _unjudged(judged)


def _unjudged(judged: Said) -> list[str]:
    """A run without an end is unknown, at the best, and every checker has its say."""
    if judged.exit_code not in (1, 2) or not judged.out.startswith("{"):
        return [f"analyze: {judged}"]
    if judged.exit_code == 1:
        return [f"an anomaly: {judged}"]
    return [] if judged.results["checks"] else ["analyze: nothing was checked"]


def changed(before: frozenset[str]) -> list[str]:
    until_s = time.monotonic() + _CLEARED_WITHIN_S
    while (found := traces.of_machine()) != before and time.monotonic() < until_s:
        time.sleep(0.2)
    return [
        *(f"new: {each}" for each in sorted(found - before)),
        *(f"gone: {each}" for each in sorted(before - found)),
    ]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--demos", type=int, default=10)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 16))
    parser.add_argument("--shared", action="store_true")
    chosen = parser.parse_args()
    dice = random.Random(chosen.seed)
    _say(f"seed {chosen.seed}")
    rounds = [
        *((f"demo {number + 1}", None) for number in range(chosen.demos)),
        *((f"kill {number + 1}", dice.uniform(0, _MOMENTS_S)) for number in range(chosen.kills)),
    ]
    bad = 0
    for name, after_s in rounds:
        before = traces.of_machine()
        begun_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="log-trial-rounds-") as made:
            directory = Path(made)
            wrong = demo(directory) if after_s is None else killed_and_healed(directory, after_s)
        if not chosen.shared:
            wrong += changed(before)
        bad += bool(wrong)
        moment = "" if after_s is None else f", killed after {after_s:.1f} s"
        verdict = "; ".join(wrong) or "nothing is left"
        _say(f"{name}{moment}: {verdict} ({time.monotonic() - begun_s:.0f} s)")
    _say(f"{len(rounds) - bad} of {len(rounds)} rounds were as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
