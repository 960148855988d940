"""What clients do, and which checkers judge it."""

from __future__ import annotations

from harness.errors import UsageFailure
from harness.plugin_objects import require_members
from harness.registry import REGISTRY, Named, found, is_ours, unknown
from workloads.base import Load, Workload

WORKLOADS = REGISTRY.workloads


def make_workload(name: str, load: Load) -> Workload:
    if name not in WORKLOADS:
        raise ValueError(unknown("workload", name, WORKLOADS))
    workload = _made(name, WORKLOADS[name], load)
    require_members(workload, Workload, f"workload {name}", declared_in="workloads/base.py")
    return workload


def _made(name: str, named: Named, load: Load) -> Workload:
    try:
        workload: Workload = found(named)(load)
    except Exception as error:
        if is_ours(named):
            raise
        what = f"{type(error).__name__}: {error}"
        raise UsageFailure(f"workload {name} could not be made: {what}") from error
    return workload
