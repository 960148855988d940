"""The page over many runs: what regressed between two releases, and what was never exercised.

pipeline/trends.py computes what it shows, as the plain data below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from reports.html import environment
from reports.trends_plots import drawn_trends

Finding = Literal["worse", "new", "better", "same", "few"]
"""How the candidate compares with the baseline. `few`: too few runs to decide. `new`: an anomaly
that no run of the baseline has; its rate may be chance."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that the reader may open."""

    name: str
    link: str | None = None
    """Its report.html, relative to the page; None if the file does not exist."""
    command: str | None = None
    """The command that repeats it."""


@dataclass(frozen=True, slots=True)
class Side:
    """The number of one release, with its interval."""

    runs: int
    value: float
    low: float | None = None
    """Bounds of the interval of 95 %; None for too few runs."""
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One measure of one workload, or one type of anomaly, in both releases."""

    subject: str
    about: str
    unit: str
    baseline: Side
    candidate: Side
    finding: Finding
    run: Run
    """The worst run of the candidate, or of the baseline if the candidate has none."""


@dataclass(frozen=True, slots=True)
class Release:
    name: str
    began: str
    """Day of its first run."""
    runs: int
    valid: int
    invalid: int
    unknown: int
    """Runs that are unknown or were not judged."""


@dataclass(frozen=True, slots=True)
class Unexercised:
    """Things of one kind that no run has exercised."""

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A measure in one release: the median over its runs, and half of them around it."""

    release: str
    runs: int
    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Course:
    """A measure of one workload over the releases."""

    measure: str
    unit: str
    workload: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trends:
    lake: str
    runs: int
    releases: Sequence[Release]
    baseline: str | None = None
    candidate: str | None = None
    compared: tuple[int, int] = (0, 0)
    """Runs of the baseline and of the candidate whose kind both releases have."""
    left_out: tuple[int, int] = (0, 0)
    """The other runs of both."""
    lines: Sequence[Line] = ()
    never: Sequence[Unexercised] = ()
    only_baseline: Sequence[Unexercised] = ()
    """What runs of the baseline exercised, and no run of the candidate."""
    courses: Sequence[Course] = ()
    runs_to_say: int = 6
    """Number of runs that an interval needs."""
    warnings: Sequence[str] = field(default_factory=tuple)

    def of(self, finding: Finding) -> list[Line]:
        return [line for line in self.lines if line.finding == finding]

    @property
    def headline(self) -> str:
        if self.baseline is None or self.candidate is None:
            return f"{self.runs:,} runs of one release: there is nothing to compare"
        worse = len(self.of("worse"))
        if all(line.finding == "few" for line in self.lines):
            what = "too few runs to say what changed"
        elif worse:
            what = f"{worse:,} regression{'s' * (worse != 1)}"
        elif self.of("new"):
            what = "no certain regression, but new anomalies"
        else:
            what = "no regression seen"
        return f"{what} from {self.baseline} to {self.candidate}"

    @property
    def sentence(self) -> str:
        """How many figures and runs the headline is based on."""
        few, same, better = (len(self.of(each)) for each in ("few", "same", "better"))
        return (
            f"{len(self.lines):,} figures of {self.compared[0]:,} and {self.compared[1]:,} runs "
            f"were compared: {better:,} are better, {same:,} show no difference, and for {few:,} "
            "there are too few runs to say"
        )


def write_trends(trends: Trends, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_trends(trends), encoding="utf-8")


def render_trends(trends: Trends) -> str:
    made = environment()
    made.filters.update(amount=amount, spread=spread)
    template = made.get_template("trends.html.j2")
    return template.render(
        trends=trends, plots=drawn_trends(trends), sections=list(_sections(trends))
    )


def _sections(trends: Trends) -> Iterator[tuple[str, str, list[Line], bool]]:
    """Heading, id and lines of each section, and whether the section is open."""
    for finding, heading, is_open in (
        ("worse", "Regressed", True),
        ("new", "New anomalies, in too few runs to exclude chance", True),
        ("better", "Better", True),
        ("few", "Too few runs to say", False),
        ("same", "No difference seen", False),
    ):
        lines = [line for line in trends.lines if line.finding == finding]
        yield heading, finding, lines, is_open


def amount(value: float | None, unit: str) -> str:
    """`97.3 %`, `1.25 s`, `3,001 records`."""
    if value is None:
        return ""
    if unit == "share":
        return f"{_digits(100 * value)} %"
    return f"{_digits(value)} {unit}"


def spread(side: Side, unit: str) -> str:
    """`0.8 to 1.9 s`; empty for too few runs."""
    if side.low is None or side.high is None:
        return ""
    if unit == "share":
        return f"{_digits(100 * side.low)} to {_digits(100 * side.high)} %"
    return f"{_digits(side.low)} to {_digits(side.high)} {unit}"


def _digits(value: float) -> str:
    """A number with three significant digits, and without a fraction from 100 on."""
    if value and abs(value) < 0.001:
        return f"{value:.1e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
