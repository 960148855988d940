"""Crash points as data: a node dies at one operation of its disks, before or after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CRASHABLE = ("fdatasync", "replace", "rename", "delete")
"""The operations that make something durable. Each has a before and an after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPoint:
    """The node dies at the `nth` operation of this name, before or after it takes effect."""

    node: str
    operation: str
    nth: int
    when: Literal["before", "after"] = "before"
    how: Literal["kill", "power_loss"] = "power_loss"
    torn: bool = True
    """Of what was not synced, a power loss leaves some, in some shape; otherwise nothing."""
    for_ms: float | None = None
    """How long the node stays down; None for ever."""
