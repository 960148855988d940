"""Plots of the cluster itself: who led, who was in sync, how far clocks were off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.clocks import Points
from reports.leading import Leading, Missing, Reign
from reports.plot_style import INK, ON, color_of, node_legend, titled
from reports.wording import cut

ROWS_MAX = 16
_CONTROLLER = "controller"
_THICK = 0.84
_VECTORS_MAX = 1500
"""Beyond that a picture takes less room."""


@dataclass(frozen=True, slots=True)
class _Piece:
    row: int
    reign: Reign
    begin_s: float
    length_s: float
    thick: float


def rows_of(leading: Leading) -> list[str]:
    """The controller's first, then the partitions', as many as there is room for."""
    return [*([_CONTROLLER] if leading.controllers else []), *sorted(leading.reigns)[:ROWS_MAX]]


def leaders(axis: Any, leading: Leading, nodes: list[str], end_s: float) -> None:
    from matplotlib.collections import PolyCollection

    rows = rows_of(leading)
    left = len(leading.reigns) - ROWS_MAX
    more = f" ({left} more not shown)" if left > 0 else ""
    titled(axis, f"who leads; a bar is as thick as its part of replicas in sync{more}")
    pieces = list(_pieces(rows, leading, end_s))
    labelled = set[tuple[int, int]]()
    for node in nodes:
        # All of a node at once: thousands of single bars would take seconds.
        corners = [_corners(each) for each in pieces if each.reign.node == node]
        if corners:
            axis.add_collection(PolyCollection(
                corners, facecolors=color_of(node, nodes), linewidths=0, label=node,
                rasterized=len(pieces) > _VECTORS_MAX))  # fmt: skip
    for each in pieces:
        place = (each.row, each.reign.begin_ns)
        has_room = each.length_s > 0.035 * end_s and each.thick > _THICK / 2
        if has_room and place not in labelled:
            labelled.add(place)
            axis.text(each.begin_s + 0.004 * end_s, each.row, each.reign.node, fontsize=7,
                      va="center_baseline", color=ON, clip_on=True)  # fmt: skip
    axis.set_yticks(range(len(rows)), [_label(name) for name in rows], fontsize=7)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    node_legend(axis)


def _corners(piece: _Piece) -> list[tuple[float, float]]:
    left, right = piece.begin_s, piece.begin_s + piece.length_s
    top, bottom = piece.row - piece.thick / 2, piece.row + piece.thick / 2
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _label(name: str) -> str:
    """What cannot be seen cannot be drawn."""
    return "".join(each if each.isprintable() else "·" for each in cut(name, 18))


def _reigns(leading: Leading, name: str) -> Sequence[Reign]:
    return leading.controllers if name == _CONTROLLER else leading.reigns[name]


def _pieces(rows: Sequence[str], leading: Leading, end_s: float) -> Iterator[_Piece]:
    """Reigns, cut wherever the number of replicas in sync changed."""
    for row, name in enumerate(rows):
        shares = [] if name == _CONTROLLER else _shares(leading.missing, name)
        for reign in _reigns(leading, name):
            begin_share = next((s for at, s in reversed(shares) if at <= reign.begin_ns), 1.0)
            cuts = [(at, s) for at, s in shares if reign.begin_ns < at < reign.end_ns]
            parts = [(reign.begin_ns, begin_share), *cuts]
            ends = [*(at for at, _ in cuts), reign.end_ns]
            for (begin_ns, share), until_ns in zip(parts, ends, strict=True):
                begin_s, until_s = max(0.0, begin_ns / 1e9), min(end_s, until_ns / 1e9)
                if until_s > begin_s:
                    yield _Piece(row, reign, begin_s, until_s - begin_s, _THICK * max(share, 0.1))


def _shares(missing: Sequence[Missing], key: str) -> list[tuple[int, float]]:
    """Which part of a partition's replicas was in sync, from when on; only where it changed."""
    found: list[tuple[int, float]] = []
    for each in missing:
        share = 1 - each.count / each.of if each.of else 1.0
        if each.key == key and (not found or found[-1][1] != share):
            found.append((each.time_ns, share))
    return found


def out_of_sync(axis: Any, leading: Leading, end_s: float) -> None:
    titled(axis, "replicas out of sync, all partitions together")
    at_s, counts = [0.0], [0]
    for time_ns, count in leading.out_of_sync():
        at_s.append(max(0.0, time_ns / 1e9))
        counts.append(count)
    axis.plot([*at_s, end_s], [*counts, counts[-1]], color=INK, lw=1.2, drawstyle="steps-post")
    axis.set_ylim(bottom=0)
    axis.yaxis.get_major_locator().set_params(integer=True)


def clocks(
    axis: Any,
    as_set: Mapping[str, Points],
    measured: Mapping[str, Sequence[tuple[int, float]]],
    nodes: list[str],
) -> None:
    dots = ", as measured ●" if measured else ""
    titled(axis, f"clocks: seconds ahead of true time, as set{dots}")
    for node in sorted({*as_set, *measured}):
        color = color_of(node, nodes)
        points = as_set.get(node, [])
        axis.plot([at / 1e9 for at, _ in points], [ahead for _, ahead in points], color=color,
                  lw=1.2, label=node)  # fmt: skip
        dots_of = measured.get(node, ())
        axis.plot([at / 1e9 for at, _ in dots_of], [ahead for _, ahead in dots_of], "o", ms=3,
                  mew=0, color=color)  # fmt: skip
    # From a tenth of a second to many minutes, either way.
    axis.set_yscale("symlog", linthresh=0.1)
    axis.yaxis.set_major_formatter("{x:g}")
    axis.axhline(0.0, color=INK, lw=0.5)
    node_legend(axis)
