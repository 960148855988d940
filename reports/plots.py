"""The cluster over time: one figure, one time axis, faults behind every plot.

Drawn as SVG whose colours are the page's own, so that it follows light and dark. The same run
gives the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.history.schema import FAIL, INFO, OK
from reports.calls import Calls
from reports.faults import Band
from reports.measures import Rates
from reports.traced import Trace
from reports.wording import cut

_STAND_INS = {
    "#010203": "var(--ink)",
    "#040506": "var(--mute)",
    "#070809": "var(--line)",
    "#0a0b0c": "var(--band)",
    "#0d0e0f": "var(--ok-line)",
    "#101112": "var(--info-line)",
    "#131415": "var(--fail-line)",
}
INK, MUTE, LINE, BAND, OK_LINE, INFO_LINE, FAIL_LINE = _STAND_INS
# A cloud is a picture, so it has colours of its own that can be read on both.
_CLOUDS = (
    (OK, "#3d95e6", "o", "ok"),
    (INFO, "#e08a00", "s", "info"),
    (FAIL, "#d6459a", "^", "fail"),
)
_NODES = ("#3d95e6", "#e08a00", "#7a5bd0", "#2f9e77", "#d6459a", "#8a8f98", "#b08900")
_ON = "#10151b"
_WIDTH_IN, _HEIGHT_IN = 10.8, 1.75
_CELLS = (1200, 180)
_ROWS_MAX = 16
_Draw = Callable[[Any, Calls, Rates, Trace | None], None]
_STYLE: Any = {
    "svg.hashsalt": "log-trial",
    "svg.fonttype": "none",
    "font.family": ["sans-serif"],
    "font.size": 9.0,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTE,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": MUTE,
    "ytick.color": MUTE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 100,
    "path.simplify": True,
    # A key with dollar signs is a name, not a formula.
    "text.parse_math": False,
}


def over_time(calls: Calls, rates: Rates, bands: Sequence[Band], trace: Trace | None) -> str:
    """The SVG, to stand inside a page."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    drawn: list[_Draw] = [_latency, _rate, _unread, _waits]
    if trace is not None and trace.reigns:
        drawn += [_leaders, _in_sync]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN * len(drawn)), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(len(drawn), 1, sharex=True, squeeze=False)[:, 0]
        for axis, draw in zip(axes, drawn, strict=True):
            for band in bands:
                axis.axvspan(band.begin_ns / 1e9, band.end_ns / 1e9, color=BAND, lw=0, zorder=0)
            draw(axis, calls, rates, trace)
        axes[0].set_xlim(0, max(calls.end_of_all_ns / 1e9, 0.001))
        axes[-1].set_xlabel("seconds since the run began")
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, dpi=110,
                       metadata={"Date": None, "Creator": None})  # fmt: skip
    return _for_page(out.getvalue())


def _for_page(svg: str) -> str:
    svg = svg[svg.index("<svg") :]
    for stand_in, variable in _STAND_INS.items():
        svg = svg.replace(stand_in, variable)
    # Width and height are the page's affair.
    return re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*pt"', r"\1", re.sub(
        r'(<svg[^>]*?) (?:width|height)="[^"]*pt"', r"\1", svg, count=1), count=1)  # fmt: skip


def _titled(axis: Any, title: str) -> None:
    axis.set_title(title, loc="left", fontsize=9, fontweight="bold")


def _latency(axis: Any, calls: Calls, _rates: Rates, _trace: Trace | None) -> None:
    _titled(axis, "latency, ms (ok ● fail ▲ info ■)")
    took_ms = np.maximum((calls.end_ns - calls.begin_ns) / 1e6, 1e-3)
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:g}")
    for type_, color, marker, name in _CLOUDS:
        x, y = _thinned(calls.end_ns[calls.type == type_] / 1e9, took_ms[calls.type == type_])
        if len(x):
            axis.plot(x, y, marker, ms=2.2 if type_ == OK else 3.4, mew=0, color=color, label=name,
                      rasterized=True, alpha=0.8)  # fmt: skip


def _thinned(x: Any, y: Any) -> tuple[Any, Any]:
    """One point for each place on the paper: a million look no different."""
    if not len(x):
        return x, y
    logs = np.log10(y)
    span_x, span_y = float(np.ptp(x)) or 1.0, float(np.ptp(logs)) or 1.0
    across = ((x - x.min()) / span_x * (_CELLS[0] - 1)).astype(np.int64)
    up = ((logs - logs.min()) / span_y * (_CELLS[1] - 1)).astype(np.int64)
    _, first = np.unique(across * _CELLS[1] + up, return_index=True)
    return x[first], y[first]


def _rate(axis: Any, _calls: Calls, rates: Rates, _trace: Trace | None) -> None:
    _titled(axis, "operations a second (ok solid, info dashed, fail dotted)")
    for values, color, dashes in (
        (rates.ok, OK_LINE, "-"),
        (rates.info, INFO_LINE, "--"),
        (rates.fail, FAIL_LINE, ":"),
    ):
        axis.plot(rates.at_s, values, dashes, color=color, lw=1.4)
    axis.set_ylim(bottom=0)


def _unread(axis: Any, _calls: Calls, rates: Rates, _trace: Trace | None) -> None:
    _titled(axis, "unread: acknowledged beyond what anybody has read")
    axis.plot(rates.at_s, rates.unread, color=INK, lw=1.2, drawstyle="steps-mid")
    axis.set_ylim(bottom=0)


def _waits(axis: Any, _calls: Calls, rates: Rates, _trace: Trace | None) -> None:
    _titled(axis, "lag: seconds from acknowledged to first read (median solid, 99 % dotted)")
    axis.plot(rates.at_s, rates.waited_p50_s, color=INK, lw=1.2)
    axis.plot(rates.at_s, rates.waited_p99_s, ":", color=INK, lw=1.2)
    axis.set_ylim(bottom=0)


def _leaders(axis: Any, _calls: Calls, _rates: Rates, trace: Trace | None) -> None:
    reigns = {} if trace is None else trace.reigns
    keys = sorted(reigns)[:_ROWS_MAX]
    nodes = sorted({each.node for own in reigns.values() for each in own})
    left = len(reigns) - len(keys)
    _titled(axis, f"leaders by partition{f' ({left} more not shown)' if left > 0 else ''}")
    for row, key in enumerate(keys):
        for each in reigns[key]:
            begin, end = max(0.0, each.begin_ns / 1e9), each.end_ns / 1e9
            if end > begin:
                color = _NODES[nodes.index(each.node) % len(_NODES)]
                axis.barh(row, end - begin, left=begin, height=0.7, color=color, lw=0)
                if end - begin > 2:
                    axis.text(
                        begin + 0.15, row, each.node, fontsize=7, va="center", color="#10151b"
                    )
    axis.set_yticks(range(len(keys)), [cut(key, 24) for key in keys], fontsize=7)
    axis.invert_yaxis()


def _in_sync(axis: Any, calls: Calls, _rates: Rates, trace: Trace | None) -> None:
    _titled(axis, "replicas out of sync, all partitions together")
    now, at_s, missing = 0, [0.0], [0]
    for time_ns, _, before, after in [] if trace is None else trace.in_sync:
        now += before - after
        at_s.append(max(0.0, time_ns / 1e9))
        missing.append(now)
    at_s.append(calls.end_of_all_ns / 1e9)
    missing.append(now)
    axis.plot(at_s, missing, color=INK, lw=1.2, drawstyle="steps-post")
    axis.set_ylim(bottom=0)
