"""Who asks for an append, which decides how much of it is checked."""

from __future__ import annotations

from enum import Enum, auto


class Origin(Enum):
    CLIENT = auto()
    COORDINATOR = auto()
    """May write control batches and batches without sequence numbers."""
    REPLICA = auto()
    """The leader has checked it, and so did we when it comes from our own log."""
