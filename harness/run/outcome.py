"""The result of a run as one value: verdict and reasons; results.json stores it.

A run that did not test what it was asked to test cannot be valid. So each doubt caps the verdict at
unknown, and no doubt hides an anomaly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checkers.verdict import Anomaly, Validity, Verdict, worst
from harness.doubts import Doubt
from harness.store.results import CauseFigures, Figures, NotJudged, RunResults
from reports import sentences

BY_INVARIANTS = "invariants"
"""Checker name of the verdict that the simulator's invariants give."""
EXIT_CODES = {Validity.VALID: 0, Validity.INVALID: 1, Validity.UNKNOWN: 2}
_WORST_FIRST = (1, 255, 254, 2, 0)


def worst_exit(codes: Sequence[int]) -> int:
    """Exit code of several runs: an anomaly is worst, then a crash, wrong usage, a doubt."""
    return next(code for code in _WORST_FIRST if code in codes)


def validity_of(verdicts: Sequence[Verdict], doubts: Sequence[Doubt]) -> Validity:
    """Of a run: a doubt caps it at unknown, and hides no anomaly."""
    found = worst(verdicts)
    return Validity.UNKNOWN if found is Validity.VALID and doubts else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    directory: Path
    command: str
    """Command line that repeats the run."""
    verdicts: tuple[Verdict, ...]
    doubts: tuple[Doubt, ...] = ()
    not_judged: tuple[NotJudged, ...] = ()
    consistency: str = ""
    """Consistency that a valid run of the workload shows, in the terms of databases."""
    figures: Figures = field(default_factory=Figures)
    causes: tuple[CauseFigures, ...] = ()

    @property
    def validity(self) -> Validity:
        return validity_of(self.verdicts, self.doubts)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.validity]

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        return self.results().anomalies

    def sentence(self) -> str:
        """The verdict in one line."""
        return sentences.verdict(self.results())

    def results(self) -> RunResults:
        return RunResults(
            run=self.directory.name,
            command=self.command,
            validity=self.validity,
            verdicts=self.verdicts,
            doubts=self.doubts,
            not_judged=self.not_judged,
            consistency=self.consistency if self.validity is Validity.VALID else "",
            figures=self.figures,
            causes=self.causes,
        )
