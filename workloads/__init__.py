"""What clients do, and which checkers judge it."""

from __future__ import annotations

from collections.abc import Callable

from workloads.admin import Admin
from workloads.append import Append
from workloads.base import Load, Workload
from workloads.latest import Latest
from workloads.queue import Queue
from workloads.register import Register

WORKLOADS: dict[str, Callable[[Load], Workload]] = {
    "queue": Queue,
    "append": Append,
    "register": Register,
    "admin": Admin,
    "latest": Latest,
}

TO_COME: dict[str, str] = {
    "group": "consumer groups",
    "txn": "transactions",
    "exactly-once": "transactions and consumer groups",
    "bank": "transactions",
}
"""Workloads whose place is kept, and what they wait for."""


def make_workload(name: str, load: Load) -> Workload:
    if name in TO_COME:
        raise ValueError(f"the workload {name} waits for {TO_COME[name]} of the reference broker")
    if name not in WORKLOADS:
        raise ValueError(f"there is no workload {name!r}, only {', '.join(WORKLOADS)}")
    return WORKLOADS[name](load)
