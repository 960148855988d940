"""One member of a classic group."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from broker.coordination.step import Ticket

Protocols = tuple[tuple[str, bytes], ...]
"""Names of assignors with the member's metadata for each, in the order of its preference."""


@dataclass(slots=True, eq=False)
class Member:
    member_id: str
    instance_id: str | None
    """`group.instance.id` of a static member."""
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    """A record keeps only the selected one, so a member that was loaded has one."""
    assignment: bytes = b""
    join: Ticket | None = None
    """The JoinGroup that waits for the others."""
    sync: Ticket | None = None
    """The SyncGroup that waits for the leader's assignment."""
    is_new: bool = False
    """It has not been part of a generation, so it does not know its id and sends no heartbeats."""

    @property
    def keeps_its_session(self) -> bool:
        """Whether a session that runs out means nothing: a request of the member is waiting.

        A new member can run out all the same. The coordinator cannot see whether the connection
        that its JoinGroup came by still exists, and clients that reconnect join once more.
        """
        return not self.is_new and (self.join is not None or self.sync is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """What the member has sent for this protocol; nothing if it does not support it."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    def vote(self, candidates: Container[str]) -> str | None:
        """The candidate that the member prefers."""
        return next((name for name, _ in self.protocols if name in candidates), None)
