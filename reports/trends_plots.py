"""Plots of the trends: verdicts and measures over releases, as one SVG in the page's colours."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reports.plot_style import (
    BAND,
    FAIL_LINE,
    INFO_LINE,
    NODES,
    OK_LINE,
    STYLE,
    for_page,
    titled,
)

if TYPE_CHECKING:
    from reports.trends import Course, Release, Trends

_WIDTH_IN, _HEIGHT_IN, _TITLE_IN, _BELOW_IN = 10.8, 2.1, 0.3, 0.3
_LABELS_WIDTH = 120
"""Most characters of all labels of an axis together."""


def drawn_trends(trends: Trends) -> str | None:
    """One SVG; None for a single release, which has no course."""
    if len(trends.releases) < 2:
        return None
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    measures = list(dict.fromkeys(course.measure for course in trends.courses))
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN * (1 + len(measures))))
        FigureCanvasSVG(figure)
        axes = figure.subplots(1 + len(measures), 1, squeeze=False)[:, 0]
        _verdicts(axes[0], trends.releases)
        for axis, measure in zip(axes[1:], measures, strict=True):
            own = [course for course in trends.courses if course.measure == measure]
            _courses(axis, own, [release.name for release in trends.releases])
        # In inches, so that titles have the same room for any number of plots.
        height_in = _HEIGHT_IN * (1 + len(measures))
        figure.subplots_adjust(left=0.08, right=0.99, top=1 - _TITLE_IN / height_in,
                               bottom=_BELOW_IN / height_in, hspace=0.5)  # fmt: skip
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True,
                       metadata={"Date": None, "Creator": None})  # fmt: skip
    return for_page(out.getvalue())


def _verdicts(axis: Any, releases: Sequence[Release]) -> None:
    titled(axis, "runs of each release: valid, unknown (hatched), invalid")
    places = range(len(releases))
    below = [0] * len(releases)
    for counts, color, hatch in (
        ([each.valid for each in releases], OK_LINE, ""),
        ([each.unknown for each in releases], INFO_LINE, "///"),
        ([each.invalid for each in releases], FAIL_LINE, ""),
    ):
        axis.bar(places, counts, bottom=below, width=0.6, hatch=hatch, lw=0,
                 color=BAND if hatch else color, edgecolor=color)  # fmt: skip
        below = [one + other for one, other in zip(below, counts, strict=True)]
    _by_release(axis, [each.name for each in releases])


def _courses(axis: Any, courses: Sequence[Course], releases: Sequence[str]) -> None:
    unit = courses[0].unit
    titled(axis, f"{courses[0].measure}{'' if unit == 'share' else f', {unit}'}")
    for number, course in enumerate(courses):
        points = [point for point in course.points if point.release in releases]
        at = [releases.index(point.release) for point in points]
        color = NODES[number % len(NODES)]
        axis.plot(at, [point.median for point in points], color=color, marker="o", ms=3, lw=1.2,
                  label=course.workload)  # fmt: skip
        axis.fill_between(at, [point.low for point in points], [point.high for point in points],
                          color=color, alpha=0.18, lw=0)  # fmt: skip
    axis.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=min(len(courses), 8),
                frameon=False, fontsize=8, handlelength=1.2, borderaxespad=0.0)  # fmt: skip
    _by_release(axis, releases)


def _by_release(axis: Any, releases: Sequence[str]) -> None:
    axis.set_xlim(-0.5, len(releases) - 0.5)
    axis.set_ylim(bottom=0)
    longest = max(6, _LABELS_WIDTH // len(releases))
    axis.set_xticks(
        range(len(releases)),
        [each if len(each) <= longest else f"{each[: longest - 1]}…" for each in releases],
    )
