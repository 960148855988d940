"""Declared nemeses, kinds of faults, workloads and states that no run has exercised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from harness.registry import REGISTRY
from harness.schedule.faults import FAULTS
from nemesis import NEMESES
from pipeline.figures.reached import FAULT, NEMESIS, STATE
from reports.protocol_states import STATES
from reports.trends import Unexercised

_WORKLOAD: Final = "workload"
_HEADINGS: Final = {
    _WORKLOAD: "workloads",
    NEMESIS: "nemeses",
    FAULT: "kinds of faults",
    STATE: "states",
}
Rows = Sequence[Mapping[str, Any]]
"""Rows of the figure `reached_by_release`."""


def never_exercised(reached: Rows) -> tuple[Unexercised, ...]:
    """Everything that is declared and that no run of any release had."""
    declared = {
        _WORKLOAD: tuple(REGISTRY.workloads),
        NEMESIS: tuple(NEMESES),
        FAULT: tuple(FAULTS),
        STATE: tuple(state.name for state in STATES),
    }
    had = {what: _had(reached, what) for what in declared}
    return _grouped(
        {
            what: [each for each in names if each not in had[what]]
            for what, names in declared.items()
        }
    )


def missing_in(reached: Rows, baseline: str, candidate: str) -> tuple[Unexercised, ...]:
    """Everything that runs of the baseline had, and no run of the candidate."""
    return _grouped(
        {
            what: sorted(_had(_of(reached, baseline), what) - _had(_of(reached, candidate), what))
            for what in _HEADINGS
        }
    )


def _of(reached: Rows, release: str) -> Rows:
    return [row for row in reached if row["release"] == release]


def _had(reached: Rows, what: str) -> set[str]:
    return {row["name"] for row in reached if row["what"] == what and row["runs_reached"]}


def _grouped(names: Mapping[str, Iterable[str]]) -> tuple[Unexercised, ...]:
    abouts = {state.name: state.about for state in STATES}
    return tuple(
        Unexercised(heading, found)
        for what, heading in _HEADINGS.items()
        if (found := tuple(abouts.get(each, each) for each in names[what]))
    )
