"""Checkers against exhaustive oracles, on as many small histories as one has time for.

    python bench/fuzz_checkers.py [--histories 50000] [--only NAME ...] [--seed 0] [--state FILE]

For each checker so many histories are drawn, from the seeds that follow one another; those of logs
share theirs, as they share what they work out of one, and it counts once. A difference prints its
seed, leaves that checker and ends the run with 1. What was done is kept in the state file, so that
a run that was stopped goes on where it was; a changed checker is to be forgotten there first
(--forget). The share of histories that are invalid must be between 20 and 80 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

# Before this directory, where a module has the name of each package.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from checkers import kernels
from checkers.kernels import LITTLE
from checkers.log.facts import LogFacts
from checkers.verdict import Validity
from tests.property import log_linearity
from tests.property import test_checkers_counts as counts
from tests.property import test_checkers_ends as ends
from tests.property import test_checkers_groups as groups
from tests.property import test_checkers_kept as registers
from tests.property import test_checkers_linear as linear
from tests.property import test_checkers_log as logs
from tests.property import test_checkers_txn as transactions
from tests.property.count_histories import PLAYS
from tests.property.light_history import LightHistory
from tests.property.linear_histories import APPLY
from tests.property.log_histories import log_history
from tests.property.log_oracle import Oracle

Trial = Callable[[Random], tuple[bool, bool]]
"""From dice to whether checker and oracle agree, and whether the history is invalid."""


@dataclass(frozen=True, slots=True)
class Group:
    """Checkers that are tried on the same histories."""

    names: tuple[str, ...]
    trial: Callable[[Random], list[tuple[bool, bool]]]


def alone(name: str, trial: Trial) -> Group:
    return Group((name,), lambda dice: [trial(dice)])


GENTLE, ROUGH, ROUGHEST = (0.08, 12), (0.3, 24), (0.45, 56)
"""How much is bent in a log, and of how many operations at most. What is frequent is tried on
gentle histories, what is rare on rough ones, so that there are enough of both sorts."""
_FREQUENT = ("duplicate", "inconsistent-offsets", "int-nonmonotonic-poll", "unseen")
_RARE = ("nonlinearizable-log", "precommitted-read")
_OTHERS = tuple(name for name in logs.CASES if name not in _FREQUENT + _RARE)


def _logs(names: tuple[str, ...], bend: float, most: int) -> Group:
    def trial(dice: Random) -> list[tuple[bool, bool]]:
        rows = log_history(dice, bend=bend, most=most)
        history = LightHistory(rows)
        facts, oracle = LogFacts(history.columns), Oracle(rows, history.values)
        both = [logs.compared(name, facts, oracle) for name in names]
        return [(found == defined, bool(defined)) for found, defined in both]

    return Group(names, trial)


def _orderly_trial(dice: Random) -> tuple[bool, bool]:
    wrong, invalid = logs.orderly_difference(dice)
    return not wrong, invalid


def _cycle_trial(dice: Random) -> tuple[bool, bool]:
    found, there, true = logs.cycle_difference(dice, 0.25, 16)
    return found == there and true, there


def _group_trial(name: str) -> Trial:
    def trial(dice: Random) -> tuple[bool, bool]:
        found, defined = groups.difference(name, dice)
        return found == defined, bool(defined)

    return trial


def _kept_trial(name: str) -> Trial:
    def trial(dice: Random) -> tuple[bool, bool]:
        found, defined = registers.difference(name, dice)
        return found == defined, bool(defined)

    return trial


def _linear_log_trial(*, dense: bool) -> Trial:
    def trial(dice: Random) -> tuple[bool, bool]:
        found, there, _ = log_linearity.difference(dice, dense=dense)
        return found == there, not there

    return trial


def _ends_trial(*, ww_deps: bool) -> Trial:
    def trial(dice: Random) -> tuple[bool, bool]:
        found, there = ends.difference(dice, ww_deps=ww_deps)
        return found == there, bool(there)

    return trial


def _count_trial(model: str) -> Trial:
    def trial(dice: Random) -> tuple[bool, bool]:
        found, defined = counts.difference(model, dice)
        return found == defined, defined[0] is Validity.INVALID

    return trial


def _txn_trial(model: str) -> Trial:
    def trial(dice: Random) -> tuple[bool, bool]:
        found, defined, just = transactions.difference(model, dice, dice.choice((0.6, 0.9)))
        return found == defined and just, bool(defined)

    return trial


def _linear_trial(model: str, *, unique: bool = False) -> Trial:
    def trial(dice: Random) -> tuple[bool, bool]:
        found, there = linear.difference(model, dice, unique=unique)
        return found == there, not there

    return trial


def _zone_trial(dice: Random) -> tuple[bool, bool]:
    while True:
        both = linear.zone_difference(dice)
        if both is not None:
            return both[0] == both[1], not both[1]


GROUPS: dict[str, Group] = {
    **{model: alone(model, _linear_trial(model)) for model in APPLY},
    "zones": alone("zones", _zone_trial),
    "unique-queue": alone("unique-queue", _linear_trial("fifo-queue", unique=True)),
    "unique-stack": alone("unique-stack", _linear_trial("stack", unique=True)),
    **{model: alone(model, _count_trial(model)) for model in PLAYS},
    **{model: alone(model, _txn_trial(model)) for model in ("list-append", "rw-register")},
    "gentle-logs": _logs(_FREQUENT, *GENTLE),
    "rough-logs": _logs(_OTHERS, *ROUGH),
    "roughest-logs": _logs(_RARE, *ROUGHEST),
    "orderly-logs": alone("orderly-logs", _orderly_trial),
    "G1c": alone("G1c", _cycle_trial),
    **{name: alone(name, _group_trial(name)) for name in groups.CASES},
    **{name: alone(name, _kept_trial(name)) for name in registers.CASES},
    "linear-log": alone("linear-log", _linear_log_trial(dense=False)),
    "dense-log": alone("dense-log", _linear_log_trial(dense=True)),
    "exact-polls": alone("exact-polls", _ends_trial(ww_deps=False)),
    "ww-deps": alone("ww-deps", _ends_trial(ww_deps=True)),
}


class Progress:
    """How far each checker's seeds have been tried, and how many histories were invalid."""

    def __init__(self, path: Path, seed: int) -> None:
        self._path, self._seed = path, seed
        self.done: dict[str, list[int]] = {}
        if path.is_file():
            kept = json.loads(path.read_text())
            if kept["seed"] != seed:
                raise SystemExit(
                    f"{path} is of seed {kept['seed']}: name another file, or remove it"
                )
            self.done = kept["done"]

    def save(self) -> None:
        self._path.write_text(json.dumps({"seed": self._seed, "done": self.done}))


def fuzz(name: str, count: int, seed: int, progress: Progress) -> bool:
    group = GROUPS[name]
    tried, *invalid = progress.done.get(name, [0] * (1 + len(group.names)))
    begun = saved = time.monotonic()
    while tried < count:
        try:
            # Compiled kernels and their plain twins take turns.
            kernels.LITTLE = LITTLE if tried % 2 else 0
            results = group.trial(Random(f"{name} {seed + tried}"))
        except Exception:
            print(f"{name}: BROKE at seed {seed + tried}", flush=True)
            raise
        wrong = [one for one, (agree, _) in zip(group.names, results, strict=True) if not agree]
        if wrong:
            progress.save()
            print(f"{name}: DIFFERENCE at seed {seed + tried}: {', '.join(wrong)}", flush=True)
            return False
        invalid = [sofar + result[1] for sofar, result in zip(invalid, results, strict=True)]
        tried += 1
        progress.done[name] = [tried, *invalid]
        if time.monotonic() - saved > 10:
            progress.save()
            saved = time.monotonic()
    progress.save()
    took = time.monotonic() - begun
    fits = [_told(*each, tried, seed, took) for each in zip(group.names, invalid, strict=True)]
    return all(fits)


def _told(name: str, invalid: int, tried: int, seed: int, took: float) -> bool:
    share = 100 * invalid / max(1, tried)
    fits = 20 <= share <= 80
    print(
        f"{name:24} seeds {seed}..{seed + tried - 1}: {tried:,} histories, {share:.1f} % invalid"
        f"{'' if fits else ' (beyond 20..80 %)'}, no difference, {took:.0f} s",
        flush=True,
    )
    return fits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--histories", type=int, default=50_000, help="for each checker")
    parser.add_argument("--only", nargs="*", choices=list(GROUPS), default=list(GROUPS))
    parser.add_argument("--seed", type=int, default=0)
    kept = Path(tempfile.gettempdir()) / "fuzz_checkers.json"
    parser.add_argument("--state", type=Path, default=kept, help=f"how far it got ({kept})")
    parser.add_argument("--forget", nargs="*", choices=list(GROUPS), default=[], help="begin anew")
    options = parser.parse_args()
    progress = Progress(options.state, options.seed)
    for name in options.forget:
        progress.done.pop(name, None)
    good = True
    for name in options.only:
        good &= fuzz(name, options.histories, options.seed, progress)
    print(f"{sum(done[0] for done in progress.done.values()):,} histories in all")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
