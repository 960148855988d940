"""What the simulator leaves to decisions, by the purposes that an override may name."""

from __future__ import annotations

import difflib

from harness.schedule.schedule import Schedule, ScheduleError

_DISK = (
    "create", "delete", "delete_directory", "fdatasync", "free_bytes", "list", "make_directory",
    "open", "read", "rename", "replace", "sync_directory", "warm", "write_again",
)  # fmt: skip

PURPOSES = (
    "request_delay", "reply_delay",
    "request_retransmission", "reply_retransmission",
    "request_lost_at_close", "reply_lost_at_close",
    "request_side_control_delay", "reply_side_control_delay",
    "connect_delay", "datagram_delay",
    *(f"disk_{operation}" for operation in _DISK),
    "tie", "power_loss", "random", "client", "question", "module_random",
    "cluster_id", "directory_id",
)  # fmt: skip


def check_overrides(schedule: Schedule) -> None:
    """Raises ScheduleError: an override of a decision that nobody takes would change nothing."""
    for number, override in enumerate(schedule.overrides, 1):
        if override.purpose not in PURPOSES:
            close = difflib.get_close_matches(override.purpose, PURPOSES, n=1)
            hint = f"did you mean {close[0]}?" if close else f"try {PURPOSES[0]}"
            raise ScheduleError(
                f"override {number}: nothing is decided for {override.purpose!r}; {hint}"
            )
