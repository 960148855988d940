"""What changed between two releases, and what was never exercised: the data of the trends page.

Only runs of the same request (`KIND` of figures/measures.py) are compared. A measure has one number
for each run, and the driver collects those of at most `_RUNS_MAX` runs of a release.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from harness.errors import UsageFailure
from pipeline.figures.material import Material
from pipeline.figures.measures import KIND, MEASURES
from pipeline.figures.store import FigureStore
from pipeline.intervals import RUNS_MIN, Interval, median_interval, share_interval
from pipeline.lake import Lake
from pipeline.unexercised import missing_in, never_exercised
from reports.trends import Course, Finding, Line, Point, Release, Run, Side, Trends

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RUNS_MAX: Final = 2000
_RELEASES_MAX: Final = 1000
_RELEASES_DRAWN: Final = 30
_COURSES: Final = ("available-in-faults", "ok", "served-again", "send-p99", "lag")


@dataclass(frozen=True, slots=True)
class Pair:
    baseline: str
    candidate: str


def trends(
    lake: Lake, page: Path, baseline: str | None = None, candidate: str | None = None
) -> Trends:
    """`page`: where it will be written, from which links to runs are relative."""
    store = FigureStore(lake)
    store.require()
    releases = _releases(store)
    pair = chosen([each.name for each in releases], baseline, candidate)
    reached = [row.asDict() for row in store.read("reached_by_release").collect()]
    common: dict[str, Any] = {
        "lake": lake.root,
        "runs": sum(each.runs for each in releases),
        "releases": releases,
        "never": never_exercised(reached),
        "courses": _courses(store, [each.name for each in releases]),
        "runs_to_say": RUNS_MIN,
        "warnings": _warnings(store),
    }
    if pair is None:
        return Trends(**common)
    compared = _Compared(Material(lake), store, pair, page)
    return Trends(
        **common,
        baseline=pair.baseline,
        candidate=pair.candidate,
        compared=compared.counts,
        left_out=compared.left_out,
        lines=compared.lines(),
        only_baseline=missing_in(reached, pair.baseline, pair.candidate),
    )


def chosen(releases: Sequence[str], baseline: str | None, candidate: str | None) -> Pair | None:
    """The two releases to compare, the last two by default; None if there is only one."""
    for each in (baseline, candidate):
        if each is not None and each not in releases:
            raise UsageFailure(
                f"no run of the lake is of the release {each!r}; choose two of "
                f"{', '.join(releases)}"
            )
    if baseline is not None and baseline == candidate:
        raise UsageFailure(
            f"{baseline} is both the baseline and the candidate; choose two of "
            f"{', '.join(releases)}"
        )
    if candidate is None:
        candidate = next((each for each in reversed(releases) if each != baseline), None)
    if baseline is None and candidate is not None:
        before = releases[: releases.index(candidate)] or releases[releases.index(candidate) + 1 :]
        baseline = before[-1] if before else None
    return None if baseline is None or candidate is None else Pair(baseline, candidate)


def finding(baseline: Interval | None, candidate: Interval | None, better_high: bool) -> Finding:
    """Compare two intervals; no difference is certain if they overlap."""
    if baseline is None or candidate is None:
        return "few"
    if candidate.is_below(baseline):
        return "worse" if better_high else "better"
    if baseline.is_below(candidate):
        return "better" if better_high else "worse"
    return "same"


def of_anomaly(counts: Sequence[int], intervals: Sequence[Interval | None]) -> Finding:
    """Same as `finding`, for the share of runs with an anomaly.

    An anomaly that the baseline lacks is always shown, although its rate may be chance.
    """
    found = finding(intervals[0], intervals[1], better_high=False)
    return "new" if found != "worse" and counts[1] and not counts[0] else found


def _releases(store: FigureStore) -> list[Release]:
    rows = store.read("releases").orderBy("first_began").limit(_RELEASES_MAX).collect()
    return releases_of([row.asDict() for row in rows])


def releases_of(rows: Iterable[Mapping[str, Any]]) -> list[Release]:
    """Each release once, from rows of the figure `releases` in order.

    Two systems may have releases of one name, for example `unknown`. They count as one release, as
    in the figures that are compared.
    """
    found: dict[str, Release] = {}
    for row in rows:
        one = Release(
            name=row["release"],
            began=f"{row['first_began']:%Y-%m-%d}",
            runs=row["runs"],
            valid=row["valid"],
            invalid=row["invalid"],
            unknown=row["unknown"] + row["not_judged"],
        )
        first = found.get(one.name)
        found[one.name] = one if first is None else _together(first, one)
    return list(found.values())


def _together(first: Release, other: Release) -> Release:
    return replace(
        first,
        runs=first.runs + other.runs,
        valid=first.valid + other.valid,
        invalid=first.invalid + other.invalid,
        unknown=first.unknown + other.unknown,
    )


def _warnings(store: FigureStore) -> tuple[str, ...]:
    if store.is_old:
        return ("the lake has changed since harness lake tables computed these figures",)
    return ()


def _courses(store: FigureStore, releases: Sequence[str]) -> list[Course]:
    from pyspark.sql import functions as F  # noqa: N812

    drawn = releases[-_RELEASES_DRAWN:]
    rows = (
        store.read("measures")
        .where(F.col("measure").isin(*_COURSES) & F.col("release").isin(*drawn))
        .groupBy("measure", "workload", "release")
        .agg(
            F.count("*").alias("runs"),
            F.percentile("value", F.array(F.lit(0.25), F.lit(0.5), F.lit(0.75))).alias("at"),
        )
        .collect()
    )
    of: dict[tuple[str, str], list[Point]] = {}
    for row in rows:
        low, middle, high = row["at"]
        point = Point(row["release"], row["runs"], middle, low, high)
        of.setdefault((row["measure"], row["workload"] or "other"), []).append(point)
    return [
        Course(
            measure=MEASURES[measure].about,
            unit=MEASURES[measure].unit,
            workload=workload,
            points=tuple(sorted(points, key=lambda point: drawn.index(point.release))),
        )
        for (measure, workload), points in sorted(
            of.items(), key=lambda each: (_COURSES.index(each[0][0]), each[0][1])
        )
        if len(points) > 1
    ]


class _Compared:
    """The runs of two releases whose kind both releases have."""

    def __init__(self, material: Material, store: FigureStore, pair: Pair, page: Path) -> None:
        self._store, self._pair, self._page = store, pair, page
        self._runs = self._alike(material)
        counts = self._counted(self._runs)
        every = self._counted(self._of_both(material))
        self.counts = (counts[pair.baseline], counts[pair.candidate])
        self.left_out = (
            every[pair.baseline] - counts[pair.baseline],
            every[pair.candidate] - counts[pair.candidate],
        )

    def lines(self) -> list[Line]:
        return [*self._of_anomalies(), *self._of_measures()]

    def _of_both(self, material: Material) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        kind = F.concat_ws(" ", *(F.coalesce(F.col(each), F.lit("")) for each in KIND))
        of_pair = F.col("release").isin(self._pair.baseline, self._pair.candidate)
        return material.runs.where(of_pair).withColumn("kind", kind)

    def _alike(self, material: Material) -> DataFrame:
        """The runs to compare, at most `_RUNS_MAX` of each release, the newest."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F  # noqa: N812

        runs = self._of_both(material)
        kinds = runs.groupBy("kind").agg(F.count_distinct("release").alias("releases"))
        newest = F.row_number().over(Window.partitionBy("release").orderBy(F.desc("began"), "run"))
        alike = runs.join(kinds.where("releases = 2"), "kind", "left_semi")
        return alike.withColumn("place", newest).where(F.col("place") <= _RUNS_MAX)

    def _counted(self, runs: DataFrame) -> dict[str, int]:
        found = {row["release"]: row["count"] for row in runs.groupBy("release").count().collect()}
        return {each: found.get(each, 0) for each in (self._pair.baseline, self._pair.candidate)}

    def _of_anomalies(self) -> Iterator[Line]:
        """A line for each forbidden type: the share of the judged runs that have it."""
        from pyspark.sql import functions as F  # noqa: N812

        judged = self._runs.where(F.col("verdict").isNotNull())
        of = self._counted(judged)
        shown = self._store.read("anomaly_counts").where("promise = 'never'")
        rows = (
            shown.join(judged.select("run", "release", "source"), "run")
            .groupBy("type", "release")
            .agg(
                F.count_distinct("run").alias("runs"),
                F.max_by(F.struct("run", "source"), F.struct("findings", "run")).alias("most"),
            )
            .collect()
        )
        found = {(row["type"], row["release"]): row for row in rows}
        for type_ in sorted({row["type"] for row in rows}):
            sides = [found.get((type_, each)) for each in self._sides]
            counts = [0 if side is None else int(side["runs"]) for side in sides]
            intervals = [
                share_interval(count, of[each]) if of[each] >= RUNS_MIN else None
                for count, each in zip(counts, self._sides, strict=True)
            ]
            shares = [count / max(of[each], 1) for count, each in zip(counts, self._sides,
                                                                      strict=True)]  # fmt: skip
            most = (sides[1] or sides[0])["most"]  # type: ignore[index]
            yield Line(
                type_, "runs with it", "share",
                _side(of[self._sides[0]], shares[0], intervals[0]),
                _side(of[self._sides[1]], shares[1], intervals[1]),
                of_anomaly(counts, intervals), self._run(most["run"], most["source"]),
            )  # fmt: skip

    def _of_measures(self) -> Iterator[Line]:
        rows = (
            self._store.read("measures")
            .select("run", "measure", "value")
            .join(self._runs.select("run", "release", "workload", "source"), "run")
            .collect()
        )
        of: dict[tuple[str, str], dict[str, list[tuple[float, str, str]]]] = {}
        for row in rows:
            sides = of.setdefault((row["workload"] or "", row["measure"]), {})
            each = (row["value"], row["run"], row["source"])
            sides.setdefault(row["release"], []).append(each)
        places = list(MEASURES)
        for workload, name in sorted(of, key=lambda each: (each[0], places.index(each[1]))):
            values = of[workload, name]
            if len(values) == len(self._sides):
                yield self._measured(workload, name, values)

    def _measured(
        self, workload: str, name: str, values: Mapping[str, list[tuple[float, str, str]]]
    ) -> Line:
        measure = MEASURES[name]
        numbers = [sorted(each[0] for each in values[side]) for side in self._sides]
        intervals = [median_interval(each) for each in numbers]
        worst = min if measure.is_better_high else max
        _, run, source = worst(values[self._pair.candidate])
        first, second = (
            _side(len(each), median(each), interval)
            for each, interval in zip(numbers, intervals, strict=True)
        )
        found = finding(intervals[0], intervals[1], better_high=measure.is_better_high)
        return Line(
            subject=workload,
            about=measure.about,
            unit=measure.unit,
            baseline=first,
            candidate=second,
            finding=found,
            run=self._run(run, source),
        )

    @property
    def _sides(self) -> tuple[str, str]:
        return self._pair.baseline, self._pair.candidate

    def _run(self, run: str, source: str) -> Run:
        return Run(run.partition("#")[0], link_to(Path(source), self._page))


def _side(runs: int, value: float, interval: Interval | None) -> Side:
    return Side(runs, value, *(interval or (None, None)))


def link_to(source: Path, page: Path) -> str | None:
    """The report of a run as a relative link from the page; None if there is none here."""
    from urllib.parse import quote

    report = source / "report.html"
    if not report.is_file():
        return None
    return quote(os.path.relpath(report.resolve(), page.resolve().parent))
