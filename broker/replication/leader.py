"""One leadership of one partition: what is committed, and who is in sync.

Methods are what happens, return values what follows from it. The caller appends before it says
`appended`, sends the proposals it is given, and ends this object when the leader epoch changes.

The high watermark is the smallest log end among all replicas that might be elected, or that are
about to join them. It stands still while fewer than min.insync.replicas are in sync (KIP-966): an
acknowledged record is then on that many replicas, whatever the in-sync set was before or is after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from broker.metadata.broker_info import UNKNOWN_BROKER_EPOCH, BrokerInfo
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode
from broker.replication.fetch_check import Diverging, OutOfRange, ReplicaFetch, check_fetch
from broker.replication.follower_progress import FollowerProgress
from broker.replication.in_sync import InSync, IsrProposal
from broker.replication.log_view import LogView

ACKS_ALL = -1
ACKS_LEADER = 1


class Progress(NamedTuple):
    """What came of an event. A proposal goes to the controller; its answer comes back here."""

    high_watermark_moved: bool = False
    proposal: IsrProposal | None = None


class Refused(NamedTuple):
    """A fetch that is answered with an error, and changes nothing here."""

    code: ErrorCode
    reason: str


_NOTHING = Progress()
_MOVED = Progress(high_watermark_moved=True)


class LeaderState:
    __slots__ = (
        "_brokers",
        "_followers",
        "_in_sync",
        "_waits_for_a_follower",
        "end_offset",
        "epoch_start_offset",
        "high_watermark",
        "is_alone",
        "is_under_min_isr",
        "lag_time_max_s",
        "leader_epoch",
        "min_insync_replicas",
        "node_id",
    )  # fmt: skip

    def __init__(
        self,
        *,
        node_id: int,
        info: PartitionInfo,
        epoch_start_offset: int,
        high_watermark: int,
        min_insync_replicas: int,
        lag_time_max_s: float,
        brokers: Mapping[int, BrokerInfo],
        now: float,
    ) -> None:
        """The log ends at `epoch_start_offset`, and its epochs know that this one begins there.

        What followers had before is not taken over: they say it anew, under the new epoch.
        """
        self.node_id = node_id
        self.leader_epoch = info.leader_epoch
        self.epoch_start_offset = epoch_start_offset
        self.end_offset = epoch_start_offset
        self.high_watermark = high_watermark
        self.min_insync_replicas = min_insync_replicas
        self.lag_time_max_s = lag_time_max_s
        self._brokers = brokers
        self._in_sync = InSync(info)
        self._followers: dict[int, FollowerProgress] = {}
        self._take_over((), now)
        self._advance(now)

    # What it knows

    @property
    def info(self) -> PartitionInfo:
        return self._in_sync.info

    @property
    def partition_epoch(self) -> int:
        return self._in_sync.info.partition_epoch

    @property
    def isr(self) -> tuple[int, ...]:
        """As the controller committed it, so far as we know."""
        return self._in_sync.info.isr

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return self._in_sync.maximal

    @property
    def in_flight(self) -> IsrProposal | None:
        return self._in_sync.in_flight

    @property
    def followers(self) -> Mapping[int, FollowerProgress]:
        return self._followers

    def low_watermark(self, own_start: int) -> int:
        """No live replica's log begins before it. -1 while one of them has not said."""
        starts = [each.log_start for each in self._followers.values() if each.is_alive]
        return min([own_start, *starts])

    def can_accept(self, acks: int) -> ErrorCode:
        """Asked before the append. What has been appended waits for the high watermark."""
        if acks == ACKS_ALL and self.is_under_min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return ErrorCode.NONE

    # What happens

    def appended(self, end_offset: int, now: float) -> bool:
        """Whether the high watermark moved: never at once, when a follower has to follow."""
        self.end_offset = end_offset
        if self._waits_for_a_follower:
            return False
        if self.is_alone:
            self.high_watermark = end_offset
            return True
        return self._advance(now)

    def fetch_arrived(
        self, log: LogView, fetch: ReplicaFetch, now: float
    ) -> Progress | Diverging | OutOfRange | Refused:
        """A follower's fetch. What it says of its log counts only if that log is like ours."""
        if fetch.current_leader_epoch != self.leader_epoch:
            return self._wrong_leader_epoch(fetch)
        follower = self._followers.get(fetch.replica)
        if follower is None:
            # The replica may have been added by metadata that has not reached this node.
            return Refused(
                ErrorCode.UNKNOWN_LEADER_EPOCH,
                f"node {fetch.replica} holds no replica, as known here",
            )
        if follower.is_stale(fetch.broker_epoch):
            return Refused(
                ErrorCode.STALE_BROKER_EPOCH,
                f"node {fetch.replica} has started again since broker epoch {fetch.broker_epoch}",
            )
        problem = check_fetch(log, fetch.fetch_offset, fetch.last_fetched_epoch)
        if problem is not None:
            return problem
        return self._count(follower, fetch, now)

    def check_lag(self, now: float) -> Progress:
        """Called from time to time: time alone can end a membership, or the wait for one."""
        moved = self._advance(now)
        lagging = tuple(
            node_id
            for node_id in self.isr
            if (follower := self._followers.get(node_id)) is not None
            and follower.is_lagging(self.end_offset, self.lag_time_max_s, now)
        )
        if not lagging:
            return _MOVED if moved else _NOTHING
        return Progress(moved, self._in_sync.propose_removal(lagging, self._broker_epochs()))

    def proposal_accepted(self, proposal: IsrProposal, info: PartitionInfo, now: float) -> Progress:
        """An answer does not say who is eligible besides. So whoever was, or has just left the set,
        counts until the metadata of the same partition epoch has come."""
        before = self.isr
        eligible = tuple(each for each in (*self.info.elr, *before) if each not in info.isr)
        if not self._in_sync.accepted(proposal, replace(info, elr=eligible)):
            return _NOTHING
        return self._recount(before, now)

    def proposal_refused(self, proposal: IsrProposal, error: ErrorCode) -> Progress:
        """The proposal that it gives back is sent after a pause, if it is still `in_flight`."""
        return Progress(
            proposal=self._in_sync.refused(proposal, error, self._broker_epochs()),
        )

    def metadata_changed(self, info: PartitionInfo, now: float) -> Progress:
        """Info of another leader epoch changes nothing: a newer one ends this object."""
        before = self.isr
        if not self._in_sync.learn(info):
            return _NOTHING
        return self._recount(before, now)

    def brokers_changed(self, brokers: Mapping[int, BrokerInfo], now: float) -> Progress:
        self._brokers = brokers
        for node_id, follower in self._followers.items():
            follower.registered(brokers.get(node_id))
        return _MOVED if self._advance(now) else _NOTHING

    def min_insync_replicas_changed(self, count: int, now: float) -> Progress:
        self.min_insync_replicas = count
        return self._recount(self.isr, now)

    # The rules

    def _count(self, follower: FollowerProgress, fetch: ReplicaFetch, now: float) -> Progress:
        follower.fetched(fetch, self.end_offset, now)
        proposal = None
        if follower.node_id not in self.isr and self._may_join(follower):
            proposal = self._in_sync.propose_addition(follower.node_id, self._broker_epochs())
            if proposal is not None:
                self._mark_who_counts()
        moved = self._advance(now)
        if proposal is None:
            return _MOVED if moved else _NOTHING
        return Progress(moved, proposal)

    def _may_join(self, follower: FollowerProgress) -> bool:
        """A new leader's high watermark may be too low to ask for: its log's end is not."""
        return (
            follower.log_end >= self.high_watermark
            and follower.log_end >= self.epoch_start_offset
            and follower.may_be_in_sync
        )

    def _advance(self, now: float) -> bool:
        if self.is_under_min_isr:
            return False
        reached = self.end_offset
        for follower in self._followers.values():
            if follower.log_end < reached and (
                follower.counts or self._is_about_to_join(follower, now)
            ):
                reached = follower.log_end
        if reached <= self.high_watermark:
            return False
        self.high_watermark = reached
        return True

    def _is_about_to_join(self, follower: FollowerProgress, now: float) -> bool:
        """A follower that was level with us a moment ago is waited for, as in Kafka.

        Otherwise a busy leader that is alone in sync would move the mark with every append, and
        no follower could ever reach it. It waits no longer than it would for a member.
        """
        return follower.may_be_in_sync and now - follower.caught_up_at <= self.lag_time_max_s

    def _wrong_leader_epoch(self, fetch: ReplicaFetch) -> Refused:
        asked = fetch.current_leader_epoch
        if asked < 0:
            return Refused(
                ErrorCode.INVALID_REQUEST, f"node {fetch.replica} fetches without a leader epoch"
            )
        if asked < self.leader_epoch:
            return Refused(
                ErrorCode.FENCED_LEADER_EPOCH,
                f"leader epoch {asked} ended before {self.leader_epoch}",
            )
        return Refused(
            ErrorCode.UNKNOWN_LEADER_EPOCH, f"leader epoch is {self.leader_epoch} here, not {asked}"
        )

    # Keeping count

    def _recount(self, isr_before: tuple[int, ...], now: float) -> Progress:
        self._take_over(isr_before, now)
        return _MOVED if self._advance(now) else _NOTHING

    def _take_over(self, isr_before: tuple[int, ...], now: float) -> None:
        """The replicas and the in-sync set as they are known now."""
        followers = {}
        for node_id in self.info.replicas:
            if node_id == self.node_id:
                continue
            follower = self._followers.get(node_id)
            if follower is None:
                follower = FollowerProgress(node_id)
                follower.registered(self._brokers.get(node_id))
            if node_id in self.isr and node_id not in isr_before:
                # A new member has the whole lag time to draw level.
                follower.caught_up_at = now
            followers[node_id] = follower
        self._followers = followers
        minimum = min(self.min_insync_replicas, len(self.info.replicas))
        self.is_under_min_isr = len(self.isr) < minimum
        self._mark_who_counts()

    def _mark_who_counts(self) -> None:
        maximal = self._in_sync.maximal
        counting = 0
        for follower in self._followers.values():
            follower.counts = follower.node_id in maximal
            counting += follower.counts
        # What spares an append all further questions.
        self._waits_for_a_follower = counting > 0 or self.is_under_min_isr
        self.is_alone = not self._followers

    def _broker_epochs(self) -> dict[int, int]:
        own = self._brokers.get(self.node_id)
        epochs = {self.node_id: UNKNOWN_BROKER_EPOCH if own is None else own.broker_epoch}
        for node_id, follower in self._followers.items():
            epochs[node_id] = follower.broker_epoch
        return epochs
