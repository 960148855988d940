"""The cluster over time: one figure, one time axis, faults behind every plot.

Drawn as SVG whose colours are the page's own, so that it follows light and dark. The same run
gives the same bytes.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.history.schema import FAIL, INFO, OK
from reports import cluster_plots
from reports.calls import Calls
from reports.clocks import Points
from reports.faults import Band
from reports.leading import Leading
from reports.measures import Rates
from reports.plot_style import BAND, FAIL_LINE, INFO_LINE, INK, OK_LINE, STYLE, for_page, titled

# A cloud is a picture, so it has colours of its own that can be read on both.
_CLOUDS = (
    (OK, "#3d95e6", "o", "ok"),
    (INFO, "#e08a00", "s", "info"),
    (FAIL, "#d6459a", "^", "fail"),
)
_WIDTH_IN, _HEIGHT_IN, _ROW_IN = 10.8, 1.75, 0.17
_LEFT_IN, _RIGHT_IN, _TITLE_IN, _BETWEEN_IN, _BELOW_IN = 1.0, 0.15, 0.22, 0.16, 0.35
_CELLS = (1200, 180)


@dataclass(frozen=True, slots=True)
class Measured:
    """What there is to be drawn."""

    calls: Calls
    rates: Rates
    leading: Leading | None = None
    clocks: Mapping[str, Points] = field(default_factory=dict)
    """As the nemesis set them."""

    @property
    def nodes(self) -> list[str]:
        """Those of which there is anything to tell; each has the same colour in every plot."""
        leading = self.leading or Leading()
        reigns = [*leading.controllers, *(one for own in leading.reigns.values() for one in own)]
        return sorted({*self.clocks, *leading.clocks, *(each.node for each in reigns)})


@dataclass(frozen=True, slots=True)
class _Plot:
    draw: Callable[[Any], None]
    height_in: float = _HEIGHT_IN


def over_time(measured: Measured, bands: Sequence[Band]) -> str:
    """The SVG, to stand inside a page."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    plots = list(_plots(measured))
    heights = [each.height_in for each in plots]
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # Letters that our font lacks are drawn by the browser, with its own.
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure(figsize=(_WIDTH_IN, sum(heights) + _BELOW_IN))
        FigureCanvasSVG(figure)
        axes = _placed(figure, heights)
        for axis, plot in zip(axes, plots, strict=True):
            for band in bands:
                # Two at once are darker than one.
                axis.axvspan(band.begin_ns / 1e9, band.end_ns / 1e9, color=BAND, lw=0, zorder=0,
                             alpha=0.7)  # fmt: skip
            plot.draw(axis)
        axes[0].set_xlim(0, _end_s(measured.calls))
        axes[-1].set_xlabel("seconds since the run began")
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, dpi=110,
                       metadata={"Date": None, "Creator": None})  # fmt: skip
    return for_page(out.getvalue())


def _placed(figure: Any, heights: Sequence[float]) -> list[Any]:
    """One below the other, by the ruler: to have them laid out takes as long as to draw them."""
    width_in, height_in = figure.get_size_inches()
    axes: list[Any] = []
    top_in = height_in
    for height in heights:
        top_in -= height
        place = (
            _LEFT_IN / width_in,
            (top_in + _BETWEEN_IN) / height_in,
            1 - (_LEFT_IN + _RIGHT_IN) / width_in,
            (height - _BETWEEN_IN - _TITLE_IN) / height_in,
        )
        axes.append(figure.add_axes(place, sharex=axes[0] if axes else None))
    for axis in axes[:-1]:
        axis.tick_params(labelbottom=False)
    return axes


def _plots(measured: Measured) -> Iterator[_Plot]:
    calls, rates, leading = measured.calls, measured.rates, measured.leading
    yield _Plot(lambda axis: _latency(axis, calls))
    yield _Plot(lambda axis: _rate(axis, rates))
    yield _Plot(lambda axis: _unread(axis, rates))
    yield _Plot(lambda axis: _waits(axis, rates))
    if leading is not None and leading.reigns:
        rows_in = _ROW_IN * len(cluster_plots.rows_of(leading))
        yield _Plot(
            lambda axis: cluster_plots.leaders(axis, leading, measured.nodes, _end_s(calls)),
            max(_HEIGHT_IN, 0.5 + rows_in),
        )
        yield _Plot(lambda axis: cluster_plots.out_of_sync(axis, leading, _end_s(calls)))
    looked_at = {} if leading is None else leading.clocks
    if measured.clocks or looked_at:
        yield _Plot(
            lambda axis: cluster_plots.clocks(axis, measured.clocks, looked_at, measured.nodes)
        )


def _end_s(calls: Calls) -> float:
    return max(calls.end_of_all_ns / 1e9, 0.001)


def _latency(axis: Any, calls: Calls) -> None:
    titled(axis, "latency, ms (ok ● fail ▲ info ■)")
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


def _rate(axis: Any, rates: Rates) -> None:
    titled(axis, "operations a second (ok solid, info dashed, fail dotted)")
    for values, color, dashes in (
        (rates.ok, OK_LINE, "-"),
        (rates.info, INFO_LINE, "--"),
        (rates.fail, FAIL_LINE, ":"),
    ):
        axis.plot(rates.at_s, values, dashes, color=color, lw=1.4)
    axis.set_ylim(bottom=0)


def _unread(axis: Any, rates: Rates) -> None:
    titled(axis, "unread: acknowledged beyond what anybody has read")
    axis.plot(rates.at_s, rates.unread, color=INK, lw=1.2, drawstyle="steps-mid")
    axis.set_ylim(bottom=0)


def _waits(axis: Any, rates: Rates) -> None:
    titled(axis, "lag: seconds from acknowledged to first read (median solid, 99 % dotted)")
    axis.plot(rates.at_s, rates.waited_p50_s, color=INK, lw=1.2)
    axis.plot(rates.at_s, rates.waited_p99_s, ":", color=INK, lw=1.2)
    axis.set_ylim(bottom=0)
