"""What a run went through: which faults took hold, and what went on meanwhile.

It is read from what the run recorded: the nemesis's rows of the history, the acknowledged writes,
and who led (the simulator's trace, or what the nodes said in `cluster.jsonl`). No verdict rests on
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from harness.cluster.capabilities import Node
from harness.history.op import Op
from harness.store.results import SurvivedFigures
from reports.faults import stroke_of
from reports.leading import Leading, load_leading
from reports.traced import Trace

_PARTITION = "partition"


@dataclass(slots=True)
class Stroke:
    """The faults that a nemesis injected at one moment, from first proof to last healing."""

    kind: str
    hold_ns: int
    end_ns: int
    links: list[tuple[Node, Node]] = field(default_factory=list)


def survived(
    directory: Path,
    nemesis: Iterable[Op],
    written_ns: npt.NDArray[np.int64],
    nodes: Sequence[Node],
    end_ns: int,
) -> SurvivedFigures | None:
    """Figures for results.json; nothing where no fault took hold.

    `written_ns` are the times at which writes were acknowledged, `end_ns` ends the history.
    """
    strokes = list(strokes_of(nemesis, end_ns).values())
    if not strokes:
        return None
    kinds = sorted({each.kind for each in strokes})
    found: SurvivedFigures = {
        "faults": {kind: sum(each.kind == kind for each in strokes) for kind in kinds},
        "writes": count_within(written_ns, strokes),
    }
    leading = _leading(directory, end_ns)
    if leading is not None:
        found["leaders_cut_off"] = sum(_cuts_a_leader_off(each, leading, nodes) for each in strokes)
        found["elections"] = _count_elections(
            leading, min(each.hold_ns for each in strokes), max(each.end_ns for each in strokes)
        )
    return found


def strokes_of(rows: Iterable[Op], end_ns: int) -> dict[str, Stroke]:
    """Those that took hold, by name."""
    links: dict[str, list[tuple[Node, Node]]] = {}
    found: dict[str, Stroke] = {}
    for op in rows:
        value = op.value if isinstance(op.value, Mapping) else {}
        if "name" in value:
            told = value.get("links") or ()
            links[value["name"]] = [(str(link[0]), str(link[1])) for link in told]
        elif "proof" in value:
            name, kind = value["fault"], op.f.partition("-")[2]
            stroke = found.setdefault(stroke_of(name), Stroke(kind, op.time_ns, end_ns))
            stroke.links += links.get(name, ())
        elif value.get("healed") and stroke_of(value["fault"]) in found:
            found[stroke_of(value["fault"])].end_ns = op.time_ns
    return found


def count_within(times_ns: npt.NDArray[np.int64], strokes: Sequence[Stroke]) -> int:
    """How many of these times lie in one of the strokes."""
    is_within = np.zeros(len(times_ns), dtype=bool)
    for each in strokes:
        is_within |= (times_ns >= each.hold_ns) & (times_ns <= each.end_ns)
    return int(is_within.sum())


def _leading(directory: Path, end_ns: int) -> Leading | None:
    trace = Trace.load(directory)
    return load_leading(directory, end_ns) if trace is None else trace.leading


def _cuts_a_leader_off(stroke: Stroke, leading: Leading, nodes: Sequence[Node]) -> bool:
    """Whether a node that led when it took hold could talk with no majority, itself included."""
    if stroke.kind != _PARTITION:
        return False
    led = {
        reign.node
        for own in leading.reigns.values()
        for reign in own
        if reign.begin_ns <= stroke.hold_ns <= reign.end_ns
    }
    return any(_is_cut_off(node, stroke.links, nodes) for node in led)


def _is_cut_off(node: Node, links: Sequence[tuple[Node, Node]], nodes: Sequence[Node]) -> bool:
    silent = {end for link in links if node in link for end in link} & set(nodes) - {node}
    return len(nodes) - len(silent) <= len(nodes) // 2


def _count_elections(leading: Leading, from_ns: int, to_ns: int) -> int:
    """How often another node came to lead a partition in this time."""
    return sum(
        one.node != other.node and from_ns <= other.begin_ns <= to_ns
        for own in leading.reigns.values()
        for one, other in pairwise(own)
    )
