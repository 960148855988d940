"""The timers of one classic group, by their keys among those of all groups."""

from __future__ import annotations

from broker.coordination.deadlines import Deadlines
from broker.coordination.step import Now

SESSION = "session"
JOIN = "join"
SYNC = "sync"


class GroupTimers:
    """A key is what the timer is for, the group's id and, for a session, the member's."""

    __slots__ = ("_deadlines", "_group_id", "_join", "_sync")

    def __init__(self, deadlines: Deadlines[tuple[str, ...]], group_id: str) -> None:
        self._deadlines = deadlines
        self._group_id = group_id
        self._join = (JOIN, group_id)
        self._sync = (SYNC, group_id)

    def set_session(self, member_id: str, timeout_ms: int, now: Now) -> None:
        key = (SESSION, self._group_id, member_id)
        self._deadlines.set(key, now.loop_s + timeout_ms / 1000)

    def cancel_session(self, member_id: str) -> None:
        self._deadlines.cancel((SESSION, self._group_id, member_id))

    def set_join(self, timeout_ms: int, now: Now) -> None:
        """The end of the time that members have to join."""
        self._deadlines.set(self._join, now.loop_s + timeout_ms / 1000)

    def cancel_join(self) -> None:
        self._deadlines.cancel(self._join)

    def set_sync(self, timeout_ms: int, now: Now) -> None:
        """The end of the time that members have to ask for their assignment."""
        self._deadlines.set(self._sync, now.loop_s + timeout_ms / 1000)

    def cancel_sync(self) -> None:
        self._deadlines.cancel(self._sync)
