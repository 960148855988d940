"""How far one follower has come, as its leader knows it from the follower's fetches."""

from __future__ import annotations

from math import inf

from broker.metadata.broker_info import UNKNOWN_BROKER_EPOCH, BrokerInfo
from broker.replication.fetch_check import ReplicaFetch

UNKNOWN_OFFSET = -1


class FollowerProgress:
    """Belongs to one life of the follower's broker: a restart may have cost it its log's end."""

    __slots__ = (
        "_fetched_at", "_known", "_leader_end_then",
        "broker_epoch", "caught_up_at", "counts", "log_end", "log_start", "node_id",
    )  # fmt: skip

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.log_end = UNKNOWN_OFFSET
        self.log_start = UNKNOWN_OFFSET
        self.broker_epoch = UNKNOWN_BROKER_EPOCH
        self.caught_up_at = -inf
        self.counts = False
        """Whether the high watermark may not pass `log_end`: set by the leader."""
        self._known: BrokerInfo | None = None
        self._fetched_at = -inf
        self._leader_end_then = 0

    def registered(self, known: BrokerInfo | None) -> None:
        self._known = known
        if known is not None and known.broker_epoch > self.broker_epoch:
            self._forget()

    def is_stale(self, broker_epoch: int) -> bool:
        """Whether a fetch comes from an earlier life than one that is known."""
        return broker_epoch < self.broker_epoch or (
            self._known is not None and broker_epoch < self._known.broker_epoch
        )

    def fetched(self, fetch: ReplicaFetch, leader_end: int, now: float) -> None:
        if fetch.broker_epoch != self.broker_epoch:
            self._forget()
            self.broker_epoch = fetch.broker_epoch
        if fetch.fetch_offset >= leader_end:
            self.caught_up_at = now
        elif fetch.fetch_offset >= self._leader_end_then:
            # It has all that there was when it asked before, so it was level with us then.
            self.caught_up_at = max(self.caught_up_at, self._fetched_at)
        self.log_end = fetch.fetch_offset
        self.log_start = fetch.log_start_offset
        self._fetched_at = now
        self._leader_end_then = leader_end

    @property
    def may_be_in_sync(self) -> bool:
        """The life that fetched is the one that is registered, and it is not on its way out."""
        known = self._known
        return known is not None and known.is_active and known.broker_epoch == self.broker_epoch

    @property
    def is_alive(self) -> bool:
        return self._known is not None and not self._known.fenced

    @property
    def rack(self) -> str | None:
        return None if self._known is None else self._known.rack

    def is_lagging(self, leader_end: int, lag_time_max_s: float, now: float) -> bool:
        return self.log_end != leader_end and now - self.caught_up_at > lag_time_max_s

    def _forget(self) -> None:
        self.log_end = self.log_start = UNKNOWN_OFFSET
        self._fetched_at = -inf
        self._leader_end_then = 0
