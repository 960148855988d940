"""What all shards of a node share: their settings, the clock, tasks, and who sees their steps."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from broker.coordination.step import Step
from broker.partition import Partition
from broker.world import WallClock


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSettings:
    load_buffer_bytes: int
    commit_timeout_s: float
    codec: int = 0
    """How batches are compressed: a number of `Codec`."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all shards of a node share."""

    clock: WallClock
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    settings: ShardSettings
    decided: Callable[[Partition, Step], None] = lambda partition, step: None
    """Called with every step that is taken, before its records are written."""
