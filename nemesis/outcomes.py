"""Outcomes of faults: whether each took hold, by which proof, and which doubts follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.cluster.capabilities import Node
from harness.doubts import Doubt, DoubtKind
from harness.schedule.faults import (
    BrokerLeaves,
    Cut,
    Fault,
    Kill,
    Pause,
    PowerLoss,
    RollingRestart,
    Stop,
    kind_of,
)
from nemesis.base import Scene

NodeMark = Literal["up", "down", "paused", "cut off", "struck"]


@dataclass(slots=True, kw_only=True)
class FaultOutcome:
    nemesis: str
    moment: str
    fault: Fault | None = None
    """None if there was no target."""
    proof: str = ""
    missed: str = ""
    """Reason why it did not take hold."""
    skipped: str = ""
    """Reason why there was no target, or no time left."""
    was_alone: bool = True
    """Whether no other fault was in force that could have been the reason."""
    not_healed: str = ""
    lapsed: str = ""
    """Fault that its healing found to have ended too early."""
    began_ms: float | None = None
    took_hold_ms: float | None = None
    healed_ms: float | None = None

    def told(self) -> dict[str, Any]:
        """The outcome as results.json stores it, without empty fields."""
        said = {
            "nemesis": self.nemesis,
            "fault": self.moment,
            "kind": None if self.fault is None else kind_of(self.fault),
            "proof": self.proof or None,
            "missed": self.missed or None,
            "skipped": self.skipped or None,
            "not_healed": self.not_healed or None,
            "lapsed": self.lapsed or None,
            "began_ms": self.began_ms,
            "took_hold_ms": self.took_hold_ms if self.proof else None,
            "healed_ms": self.healed_ms,
        }
        return {name: value for name, value in said.items() if value is not None}


def doubts_about(
    outcomes: Sequence[FaultOutcome], *, wanted: Sequence[str] = (), is_all: bool = False
) -> list[Doubt]:
    """Doubts about faults that missed or lapsed, and nemeses of `wanted` that injected none.

    With `--nemesis all` (`is_all`) a nemesis may have no target, and in a mix one fault may prevent
    another. A run in which no fault took hold tested nothing.
    """
    doubts = [
        Doubt(DoubtKind.FAULT_MISSED, each.moment, each.missed) for each in outcomes if each.missed
    ]
    doubts += [
        Doubt(DoubtKind.FAULT_LAPSED, each.moment, each.lapsed) for each in outcomes if each.lapsed
    ]
    has_struck = any(each.proof for each in outcomes)
    for nemesis in dict.fromkeys(each.nemesis for each in outcomes):
        own = [each for each in outcomes if each.nemesis == nemesis]
        is_excused = has_struck and (is_all or not any(each.was_alone for each in own))
        if not any(each.proof or each.missed for each in own) and not is_excused:
            why = own[-1].skipped or "the run ended before the fault took hold"
            doubts.append(Doubt(DoubtKind.NEVER_STRUCK, nemesis, why))
    for nemesis in () if is_all and has_struck else wanted:
        if all(each.nemesis != nemesis for each in outcomes):
            why = "the plan drew no moment for it; try a longer --time-limit"
            doubts.append(Doubt(DoubtKind.NEVER_STRUCK, nemesis, why))
    return doubts


def sentence(outcome: FaultOutcome) -> str:
    return f"{outcome.moment}: {outcome.proof or 'being injected'}"


def marks_of(scene: Scene) -> Mapping[Node, NodeMark]:
    return {node: _mark(scene, node) for node in scene.cluster.nodes}


def _mark(scene: Scene, node: Node) -> NodeMark:
    """The worst effect of the faults in force on this node."""
    faults = [fault for fault in scene.in_force.values() if _strikes(fault, node)]
    if any(isinstance(fault, Kill | PowerLoss | Stop | BrokerLeaves) for fault in faults):
        return "down"
    if any(isinstance(fault, Pause) for fault in faults):
        return "paused"
    if any(isinstance(fault, Cut) and _is_cut_off(scene, fault, node) for fault in faults):
        return "cut off"
    return "struck" if any(not isinstance(fault, Cut) for fault in faults) else "up"


def _strikes(fault: Fault, node: Node) -> bool:
    if isinstance(fault, RollingRestart):
        return node in fault.nodes
    if any(node in link for link in getattr(fault, "links", ())):
        return True
    return getattr(fault, "node", None) == node


def _is_cut_off(scene: Scene, fault: Cut, node: Node) -> bool:
    """Whether the node no longer reaches a majority, itself included."""
    nodes = scene.cluster.nodes
    silent = {end for link in fault.links if node in link for end in link} & set(nodes) - {node}
    return len(nodes) - len(silent) <= len(nodes) // 2
