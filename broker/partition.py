"""One partition as this node holds it: its log, and its part in the partition's replication.

The rules stand in broker/replication. Here they meet the log, the clock and those who wait. Appends
that take a while, what a leader sent, and a change of role go one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from broker.change_journal import ChangeJournal
from broker.commit_waiters import CommitWaiters
from broker.follower_log import carry_out
from broker.log.breather import Breather
from broker.log.log import Appended, Log, Origin
from broker.log.record_check import TakesLongError, WorkBudget
from broker.log.unopened import Unopened
from broker.metadata.broker_info import BrokerInfo
from broker.metadata.internal_topics import INTERNAL_TOPICS
from broker.metadata.partition_info import PartitionInfo
from broker.observe.events import emit, event_sink
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication import follower
from broker.replication.fetch_check import Diverging, OutOfRange, ReplicaFetch
from broker.replication.follower import Answer, Question
from broker.replication.in_sync import IsrProposal
from broker.replication.leader import LeaderState, Progress, Refused
from broker.watchers import Watchers, wait_for_any

_NEVER_FLUSH = (1 << 63) - 1
_NO_EPOCH = -1

Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all partitions of a node share."""

    node_id: int
    lag_time_max_s: Callable[[], float]
    brokers: Callable[[], Mapping[int, BrokerInfo]]
    propose: Callable[[Partition, IsrProposal], None]
    lose_trust: Callable[[str], Awaitable[None]]
    journal: ChangeJournal


class Partition:
    def __init__(
        self, log: Log, *, topic_id: bytes, log_dir: str, surroundings: Surroundings
    ) -> None:
        self.topic = log.topic
        self.index = log.partition
        self.topic_id = topic_id
        self.is_internal = log.topic in INTERNAL_TOPICS
        self.log = log
        self.log_dir = log_dir
        self.next_log_dir: str | None = None
        """The directory that its copy lies in, once that is about to take its place (KIP-858)."""
        self.leader_epoch = _NO_EPOCH
        self.info: PartitionInfo | None = None
        self.leader: LeaderState | None = None
        self._harmed_epoch = _NO_EPOCH
        self.before_append: Callable[[], Awaitable[None]] | None = None
        """Awaited before anything is appended; raises KafkaError to have it refused."""

        self.unopened = Unopened()
        """Transactions whose first batch waits for the answer of a coordinator."""

        self.watchers = Watchers()
        """Of what a consumer may wait for: the high watermark, the role."""

        self._around = surroundings
        self._loop = asyncio.get_running_loop()
        self._in_turn = asyncio.Lock()
        self._waiting = CommitWaiters()

    # As a leader: appends

    def lead(self) -> LeaderState:
        """Raises KafkaError unless this node leads the partition."""
        if self.leader is None:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.topic}-{self.index} is led elsewhere"
            )
        return self.leader

    def check_acks(self, acks: int) -> None:
        leader = self.lead()
        code = leader.can_accept(acks)
        if code:
            raise KafkaError(
                code,
                f"{len(leader.isr)} in sync ({list(leader.isr)}), min.insync.replicas is "
                f"{leader.min_insync_replicas}",
            )

    def append_at_once(
        self, records: memoryview, budget: WorkBudget, origin: Origin = Origin.CLIENT
    ) -> Appended | None:
        """None when the append has to wait: for a new segment, for the disk, for its turn, or
        because a look at its records takes more than the budget."""
        log, leader = self.log, self.leader
        if (
            leader is None
            or self._in_turn.locked()
            or self.before_append is not None
            or budget.left < 0
            or log.config.flush_messages != _NEVER_FLUSH
            or not log.can_append(len(records))
        ):
            return None
        try:
            appended = log.append(
                records, leader_epoch=self.leader_epoch, origin=origin, budget=budget
            )
        except TakesLongError:
            return None
        self._appended(leader)
        return appended

    async def append(
        self, records: memoryview, breather: Breather, check: Check | None = None
    ) -> Appended:
        """The bytes must be the caller's own: the connection's buffer is reused meanwhile.

        `check` raises if the records must not be written after what others wrote meanwhile.
        """
        checked = await self.log.check(records, breather)
        size = len(checked[0])
        async with self._in_turn:
            if self.before_append is not None:
                await self.before_append()
            leader, log = self.lead(), self.log
            while not log.can_append(size):
                await log.roll()
            if check is not None:
                check()
            appended = log.append(
                records, leader_epoch=self.leader_epoch, origin=Origin.CLIENT, checked=checked
            )
            if log.needs_flush:
                await log.flush()
            self._appended(leader)
            return appended

    async def append_own(
        self, records: memoryview, leader_epoch: int, check: Check | None = None
    ) -> Appended:
        """For a coordinator, whose state belongs to one leader epoch. As `append`, otherwise."""
        async with self._in_turn:
            if self.before_append is not None:
                await self.before_append()
            while self.leads_in(leader_epoch) and not self.log.can_append(len(records)):
                await self.log.roll()
            leader, log = self.lead(), self.log
            if leader.leader_epoch != leader_epoch:
                raise KafkaError(
                    ErrorCode.FENCED_LEADER_EPOCH, f"leader epoch {leader_epoch} is over"
                )
            if check is not None:
                check()
            appended = log.append(records, leader_epoch=leader_epoch, origin=Origin.COORDINATOR)
            if log.needs_flush:
                await log.flush()
            self._appended(leader)
            return appended

    def leads_in(self, leader_epoch: int) -> bool:
        """Whether this node leads the partition, and in that very epoch."""
        return self.leader is not None and self.leader.leader_epoch == leader_epoch

    def _appended(self, leader: LeaderState) -> None:
        if leader.appended(self.log.end_offset, self._loop.time()):
            self._high_watermark_moved(leader)
        if not leader.is_alone:
            self._tell_followers()
        if event_sink.get() is not None:
            emit("append", self.topic, self.index, self.log.end_offset, self.leader_epoch)

    def is_committed(self, end_offset: int) -> bool:
        return self.log.high_watermark >= end_offset

    def committed(self, end_offset: int, timeout_s: float) -> asyncio.Future[ErrorCode]:
        """Done when the high watermark is there, or will not be: NONE or why."""
        outcome: asyncio.Future[ErrorCode] = self._loop.create_future()
        if self.leader is None:
            outcome.set_result(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif self.is_committed(end_offset):
            outcome.set_result(ErrorCode.NONE)
        else:
            self._waiting.add(outcome, end_offset, timeout_s)
        return outcome

    def acknowledged(self, end_offset: int) -> None:
        """A client with acks=all is about to be told that what ends there is safe."""
        emit("acknowledged", self.topic, self.index, end_offset, self.leader_epoch)

    # As a leader: followers

    def fetch_arrived(self, fetch: ReplicaFetch) -> Progress | Diverging | OutOfRange | Refused:
        leader = self.lead()
        outcome = leader.fetch_arrived(self.log, fetch, self._loop.time())
        if isinstance(outcome, Progress):
            self._progressed(leader, outcome)
            if event_sink.get() is not None:
                asked = fetch.current_leader_epoch
                emit("served", self.topic, self.index, self.leader_epoch, asked, "replica fetch")
        return outcome

    def check_lag(self) -> None:
        if self.leader is not None:
            self._progressed(self.leader, self.leader.check_lag(self._loop.time()))

    def brokers_changed(self) -> None:
        if self.leader is not None:
            brokers = self._around.brokers()
            progress = self.leader.brokers_changed(brokers, self._loop.time())
            self._progressed(self.leader, progress)

    def reconfigured(self) -> None:
        if self.leader is not None:
            minimum = self.log.config.min_insync_replicas
            if minimum != self.leader.min_insync_replicas:
                progress = self.leader.min_insync_replicas_changed(minimum, self._loop.time())
                self._progressed(self.leader, progress)

    def proposal_accepted(self, proposal: IsrProposal, answered: PartitionInfo) -> None:
        leader = self.leader
        if leader is not None:
            now = self._loop.time()
            self._progressed(leader, leader.proposal_accepted(proposal, answered, now))
            self._tell_of_in_sync(leader)

    def proposal_refused(self, proposal: IsrProposal, error: ErrorCode) -> IsrProposal | None:
        """What to send again after a pause."""
        if self.leader is None:
            return None
        return self.leader.proposal_refused(proposal, error).proposal

    def is_in_flight(self, proposal: IsrProposal) -> bool:
        return self.leader is not None and self.leader.in_flight == proposal

    def _tell_of_in_sync(self, leader: LeaderState) -> None:
        emit("learned", self.topic, self.index, leader.partition_epoch, self.leader_epoch)

    def _progressed(self, leader: LeaderState, progress: Progress) -> None:
        if progress.high_watermark_moved:
            self._high_watermark_moved(leader)
        if progress.proposal is not None:
            self._around.propose(self, progress.proposal)

    def _high_watermark_moved(self, leader: LeaderState) -> None:
        mark = leader.high_watermark
        self.log.advance_high_watermark(mark)
        if event_sink.get() is not None:
            emit("high_watermark", self.topic, self.index, mark, self.leader_epoch)
        if self._waiting:
            self._waiting.committed(mark, is_under_min_isr=leader.is_under_min_isr)
        if not leader.is_alone:
            self._around.journal.note(self)  # for the next answer; it is worth none of its own
        self.watchers.wake()

    def _tell_followers(self) -> None:
        journal = self._around.journal
        journal.note(self)
        journal.watchers.wake()

    # As a follower

    def question(self) -> Question:
        return follower.next_question(self.log, self.leader_epoch)

    async def take(self, asked: Question, answer: Answer, records: memoryview | None) -> bool:
        """What the leader said. Whether it brought the follower on; raises KafkaError, OSError."""
        async with self._in_turn:
            if self.leader is not None:
                return True
            for effect in follower.effects_of(self.log, self.leader_epoch, asked, answer):
                if isinstance(effect, follower.Wait):
                    return False
                try:
                    await carry_out(self.log, self.leader_epoch, effect, records)
                except asyncio.CancelledError:
                    # The log goes on with what was begun: it is nobody else's turn before its end.
                    async with self.log.changing:
                        raise
            self.watchers.wake()
            return True

    # Roles

    async def become(self, info: PartitionInfo) -> None:
        """What the metadata says of this partition by now."""
        async with self._in_turn:
            self.info = info
            if info.leader != self._around.node_id:
                self._step_down(info)
            elif self.leader is not None and self.leader.leader_epoch == info.leader_epoch:
                now = self._loop.time()
                self._progressed(self.leader, self.leader.metadata_changed(info, now))
                self._tell_of_in_sync(self.leader)
            elif info.leader_epoch > self._harmed_epoch and (
                info.leader_epoch > self.leader_epoch or self.leader is None
            ):
                await self._step_up(info)

    def _step_down(self, info: PartitionInfo) -> None:
        if info.leader_epoch < self.leader_epoch:
            return
        if self.leader is not None or info.leader_epoch != self.leader_epoch:
            emit("role", self.topic, self.index, info.leader, info.leader_epoch, "follower")
        self.leader = None
        self.leader_epoch = info.leader_epoch
        self._release_all()

    async def _step_up(self, info: PartitionInfo) -> None:
        self._release_all()
        self.leader = None
        if info.leader_epoch != self.leader_epoch:
            self.before_append = None
        self.leader_epoch = info.leader_epoch
        await self.log.assign_leader_epoch(info.leader_epoch)
        emit("role", self.topic, self.index, self._around.node_id, info.leader_epoch, "leader")
        self.leader = LeaderState(
            node_id=self._around.node_id,
            info=info,
            epoch_start_offset=self.log.end_offset,
            high_watermark=self.log.high_watermark,
            min_insync_replicas=self.log.config.min_insync_replicas,
            lag_time_max_s=self._around.lag_time_max_s(),
            brokers=self._around.brokers(),
            now=self._loop.time(),
        )
        self._high_watermark_moved(self.leader)
        self._tell_followers()

    async def move_log(self, take_over: Callable[[Log], Awaitable[Log]], log_dir: str) -> Log:
        """Goes on with the log that `take_over` makes of the present one, which is returned.

        Nothing is appended to either meanwhile, and no segment changes.
        """
        async with self._in_turn:
            before = self.log
            async with before.changing, before.syncing:
                before.check_online()
                self.log = await take_over(before)
                self.log_dir, self.next_log_dir = log_dir, None
                before.mark_deleted()
        return before

    async def bring_back(self, breather: Breather) -> None:
        """Tries a log again that an I/O error took offline; raises OSError if it still fails."""
        async with self._in_turn:
            await self.log.reopen(breather, self._lost_its_end)
            leader = self.leader
            if leader is not None:
                await self.log.assign_leader_epoch(self.leader_epoch)
                self._appended(leader)

    async def _lost_its_end(self) -> None:
        """This node must not lead in this epoch any more, or it would use its offsets for other
        records; nor may anybody count on what it had before."""
        self._harmed_epoch = self.leader_epoch
        self.retire()
        await self._around.lose_trust(f"{self.log.directory} has lost its end")

    def retire(self) -> None:
        """Nobody is served from it any more."""
        self.leader = None
        self._release_all()

    def _release_all(self) -> None:
        """Those who wait for this leadership: it is over."""
        self._waiting.release_all()
        self.watchers.wake()
        self._tell_followers()


async def wait_for_change(partitions: Iterable[Partition], until: float) -> None:
    """Returns when one of them has changed for consumers, or when the loop's time is `until`."""
    await wait_for_any([partition.watchers for partition in partitions], until)
