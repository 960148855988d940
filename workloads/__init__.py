"""What clients do, and which checkers judge it."""

from __future__ import annotations

from harness.plugin_objects import require_members
from harness.registry import REGISTRY, found, unknown
from workloads.base import Load, Workload

WORKLOADS = REGISTRY.workloads


def make_workload(name: str, load: Load) -> Workload:
    if name not in WORKLOADS:
        raise ValueError(unknown("workload", name, WORKLOADS))
    workload: Workload = found(WORKLOADS[name])(load)
    require_members(workload, Workload, f"workload {name}", declared_in="workloads/base.py")
    return workload
