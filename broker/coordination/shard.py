"""One led partition of an internal topic: the shell around a state machine.

A shard belongs to one leader epoch of its partition. It replays the whole partition (`LOADING`),
then takes steps (`ACTIVE`), until the epoch ends (`CLOSED`); a new epoch gets a new shard.

Steps run one after the other on the loop. All steps that came in one turn of the loop are written
as one append: each is decided, its records are replayed at once so that the next one sees them,
and nothing is answered before the high watermark has passed the append. The shard asks before the
first step whether the partition takes an append, so a refusal finds nothing replayed. Should the
append itself fail, memory is ahead of the log: the machine is thrown away and loaded again.

An append that has to wait for a new segment, or for the disk, holds up all later steps.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, NamedTuple, TypeVar

from broker.coordination.batches import Unit, build_batches, size_of
from broker.coordination.errors import for_clients
from broker.coordination.loading import replay_partition
from broker.coordination.step import Machine, Now, Reply, Step, Ticket
from broker.log.origin import Origin
from broker.log.record_check import WorkBudget
from broker.log.validation import Checked
from broker.observe.events import emit
from broker.partition import Partition
from broker.protocol.batch import HEADER_SIZE
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.leader import ACKS_ALL
from broker.world import WallClock

_log = logging.getLogger(__name__)

MachineT = TypeVar("MachineT", bound=Machine)

_STEPS_AT_ONCE = 256
_RETRY_S = 1.0


class ShardState(Enum):
    LOADING = auto()
    ACTIVE = auto()
    CLOSED = auto()


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


_Job = tuple[Callable[[Any, Ticket, Now], Step], Ticket]


class _Uncommitted(NamedTuple):
    end_offset: int
    deadline_s: float
    replies: list[Reply]


class Shard(Generic[MachineT]):
    """`machine` is only to be looked at while the shard is active."""

    def __init__(
        self, partition: Partition, make_machine: Callable[[], MachineT], around: Surroundings
    ) -> None:
        self.partition = partition
        self.leader_epoch = partition.lead().leader_epoch
        self.machine = make_machine()
        self.state = ShardState.LOADING
        self._make_machine = make_machine
        self._around = around
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_Job] = deque()
        self._waiting: dict[Ticket, Callable[[Any], None]] = {}
        self._uncommitted: deque[_Uncommitted] = deque()
        self._end_offset = 0
        self._is_scheduled = False
        self._is_writing = False
        self._ticks_not_before_s = 0.0
        self._tick_timer: asyncio.TimerHandle | None = None
        self._commit_timer: asyncio.TimerHandle | None = None
        partition.watchers.call(self._partition_changed)
        around.spawn(self._load())

    # Requests

    def ask(self, run: Callable[[MachineT, Ticket, Now], Step]) -> asyncio.Future[Any]:
        """Done when the machine has replied: with its reply, or with a KafkaError as the result.

        Raises KafkaError when the shard is not active.
        """
        outcome: asyncio.Future[Any] = self._loop.create_future()
        self.call(run, lambda reply: None if outcome.done() else outcome.set_result(reply))
        return outcome

    def call(
        self, run: Callable[[MachineT, Ticket, Now], Step], replied: Callable[[Any], None]
    ) -> None:
        """As `ask`, without a future: `replied` is called in the moment of the reply, must not
        raise, and may ask the shard again."""
        if self.state is not ShardState.ACTIVE:
            raise self._not_active()
        ticket = Ticket()
        self._waiting[ticket] = replied
        self._queue.append((run, ticket))
        self._schedule()

    def tell(self, run: Callable[[MachineT, Now], Step]) -> None:
        """A step that nobody waits for; also while the shard loads, for afterwards."""
        if self.state is not ShardState.CLOSED:
            self._queue.append((lambda machine, _, now: run(machine, now), Ticket()))
            self._schedule()

    def _not_active(self) -> KafkaError:
        name = f"{self.partition.topic}-{self.partition.index}"
        if self.state is ShardState.LOADING:
            return KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{name} is being loaded")
        return KafkaError(ErrorCode.NOT_COORDINATOR, f"{name} is led elsewhere")

    @property
    def is_writing(self) -> bool:
        """Whether memory may hold steps that are not in the log yet; no step is taken meanwhile."""
        return self._is_writing

    @property
    def end_offset(self) -> int:
        """Where the log ended when this memory was made of it."""
        return self._end_offset

    # Steps

    def _schedule(self) -> None:
        if not self._is_scheduled and not self._is_writing and self.state is ShardState.ACTIVE:
            self._is_scheduled = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        """Takes the steps that have come, and writes them together."""
        self._is_scheduled = False
        if self.state is not ShardState.ACTIVE or self._is_writing:
            return
        if self.partition.before_append is not None or self.partition.log.no_room is not None:
            self._is_writing = True
            self._around.spawn(self._drain_when_clear())
        else:
            self._take_steps(self._refusal())

    async def _drain_when_clear(self) -> None:
        """On a disk that was full, or while only readers are served: asks before anything is
        decided, because a step that could not be written would cost a new load."""
        refusal = ErrorCode.NONE
        try:
            if self.partition.before_append is not None:
                await self.partition.before_append()
            if self.partition.log.no_room is not None:
                await self.partition.log.roll()
        except KafkaError as problem:
            refusal = for_clients(problem.code)
        self._is_writing = False
        if self.state is ShardState.ACTIVE:
            self._take_steps(refusal or self._refusal())

    def _take_steps(self, refusal: ErrorCode) -> None:
        """With a refusal, steps that would write are refused and all others are taken."""
        units: list[Unit] = []
        replies: list[Reply] = []
        now = self._now()
        for _ in range(min(len(self._queue), _STEPS_AT_ONCE)):
            step = self._decided(self._queue.popleft(), now)
            if step.records:
                parts = [step.records] if step.is_atomic else [[each] for each in step.records]
                wanted: list[Unit] = [(part, size_of(part)) for part in parts]
                code = refusal or self._too_large(wanted)
                if code:
                    step = self._refused(step, code, now)
                else:
                    for record in step.records:
                        self.machine.replay(record)
                    units += wanted
            replies += step.replies
            self._around.decided(self.partition, step)
        if units:
            self._write(units, replies, now)
        else:
            self._release_when_committed(replies)
        self._set_tick_timer()
        if self._queue:
            self._schedule()

    def _decided(self, job: _Job, now: Now) -> Step:
        run, ticket = job
        try:
            return run(self.machine, ticket, now)
        except Exception as problem:
            # A decision changes nothing that lasts, so only this request is lost.
            _log.exception("%s: a request failed", self.partition.log.directory)
            code = ErrorCode.UNKNOWN_SERVER_ERROR
            return Step(replies=[Reply(ticket, KafkaError(code, str(problem)))])

    def _refusal(self) -> ErrorCode:
        """Why the partition would not take an append now."""
        if not self.partition.leads_in(self.leader_epoch):
            return ErrorCode.NOT_COORDINATOR
        try:
            self.partition.log.check_online()
            self.partition.check_acks(ACKS_ALL)
        except KafkaError as refused:
            return for_clients(refused.code)
        return ErrorCode.NONE

    def _too_large(self, units: list[Unit]) -> ErrorCode:
        largest = max([size for _, size in units])
        fit = largest <= self._batch_bytes_max
        return ErrorCode.NONE if fit else for_clients(ErrorCode.MESSAGE_TOO_LARGE)

    def _refused(self, step: Step, code: ErrorCode, now: Now) -> Step:
        self._ticks_not_before_s = self._loop.time() + _RETRY_S
        if step.refused is None:
            return Step()
        instead = step.refused(code, now)
        assert not instead.records, "what follows a refusal cannot need another append"
        return instead

    def _now(self) -> Now:
        return Now(self._loop.time(), self._around.clock.now_ms())

    # Writing

    @property
    def _batch_bytes_max(self) -> int:
        """How large the records of one batch may be together."""
        config = self.partition.log.config
        return min(config.max_message_bytes, config.segment_bytes) - HEADER_SIZE

    def _write(self, units: list[Unit], replies: list[Reply], now: Now) -> None:
        codec, append = self._around.settings.codec, self.partition.append_at_once
        batches = build_batches(units, self._batch_bytes_max, codec, now.wall_ms)
        try:
            while batches:
                batch = batches[0]
                if append(batch[0], WorkBudget(), Origin.COORDINATOR, batch) is None:
                    self._is_writing = True
                    self._around.spawn(self._write_later(batches, replies))
                    return
                batches.popleft()
        except KafkaError as problem:
            self._lost(replies, problem)
            return
        self._written(replies)

    async def _write_later(self, batches: deque[Checked], replies: list[Reply]) -> None:
        """Never cancelled: the partition must learn of what its log has."""
        try:
            while batches:
                await self.partition.append_own(batches.popleft(), self.leader_epoch)
        except KafkaError as problem:
            self._is_writing = False
            self._lost(replies, problem)
            return
        self._is_writing = False
        if self.state is ShardState.ACTIVE:
            self._written(replies)
            self._schedule()

    def _lost(self, replies: list[Reply], problem: KafkaError) -> None:
        """Memory holds what the log does not: the state is what the log gives, so it is read."""
        code = for_clients(problem.code)
        for reply in replies:
            self._answer(reply.ticket, KafkaError(code, problem.message))
        if self.state is not ShardState.ACTIVE:
            return
        _log.error("%s: its state is loaded again: %s", self.partition.log.directory, problem)
        self._turn_away(self.machine.tickets())
        self.state = ShardState.LOADING
        self._around.spawn(self._load())

    def _written(self, replies: list[Reply]) -> None:
        self._end_offset = self.partition.log.end_offset
        self._release_when_committed(replies)

    # Answers

    def _release_when_committed(self, replies: list[Reply]) -> None:
        if not replies:
            return
        deadline = self._loop.time() + self._around.settings.commit_timeout_s
        self._uncommitted.append(_Uncommitted(self._end_offset, deadline, replies))
        self._release()

    def _partition_changed(self) -> None:
        """In the moment in which the high watermark, or the leader, has changed."""
        if not self.partition.leads_in(self.leader_epoch):
            self.close()
        else:
            self._release()

    def _release(self) -> None:
        mark, uncommitted = self.partition.log.high_watermark, self._uncommitted
        while uncommitted and uncommitted[0].end_offset <= mark:
            released = uncommitted.popleft()
            self.partition.acknowledged(released.end_offset)
            for reply in released.replies:
                self._answer(reply.ticket, reply.response)
        if uncommitted and self._commit_timer is None:
            self._commit_timer = self._loop.call_at(uncommitted[0].deadline_s, self._time_out)

    def _time_out(self) -> None:
        """Answer with a retriable error. The records stay appended and may yet be committed."""
        self._commit_timer = None
        now = self._loop.time()
        while self._uncommitted and self._uncommitted[0].deadline_s <= now:
            for reply in self._uncommitted.popleft().replies:
                code = for_clients(ErrorCode.REQUEST_TIMED_OUT)
                self._answer(reply.ticket, KafkaError(code, "not committed in time"))
        self._release()

    def _answer(self, ticket: Ticket, result: Any) -> None:
        replied = self._waiting.pop(ticket, None)
        if replied is not None:
            replied(result)

    def _turn_away(self, tickets: list[Ticket]) -> None:
        for ticket in tickets:
            self._answer(ticket, KafkaError(ErrorCode.NOT_COORDINATOR, "the leadership has ended"))

    # Time

    def _set_tick_timer(self) -> None:
        deadline = self.machine.deadline_s
        if deadline is not None:
            deadline = max(deadline, self._ticks_not_before_s)
        if self._tick_timer is not None:
            if deadline is not None and self._tick_timer.when() <= deadline:
                return  # an early timer sets itself again
            self._tick_timer.cancel()
            self._tick_timer = None
        if deadline is not None:
            self._tick_timer = self._loop.call_at(deadline, self._tick)

    def _tick(self) -> None:
        self._tick_timer = None
        if self.state is ShardState.ACTIVE:
            self.tell(lambda machine, now: machine.tick(now))

    # Begin and end

    async def _load(self) -> None:
        while self.state is ShardState.LOADING:
            self.machine = self._make_machine()
            try:
                end = await replay_partition(
                    self.partition,
                    self.machine.replay,
                    buffer_bytes=self._around.settings.load_buffer_bytes,
                    is_over=lambda: self.state is not ShardState.LOADING,
                )
            except (KafkaError, OSError) as problem:
                _log.error("%s cannot be loaded: %s", self.partition.log.directory, problem)
                await asyncio.sleep(_RETRY_S)
                continue
            if self.state is ShardState.LOADING:
                self._end_offset = end
                self.state = ShardState.ACTIVE
                emit("loaded", self.partition.topic, self.partition.index, end, self.leader_epoch)
                self._queue.appendleft((lambda machine, _, now: machine.loaded(now), Ticket()))
                self._schedule()

    def close(self) -> None:
        """End with the leader epoch. Pending requests are answered NOT_COORDINATOR."""
        if self.state is ShardState.CLOSED:
            return
        self.state = ShardState.CLOSED
        self.partition.watchers.call_no_more(self._partition_changed)
        for timer in (self._tick_timer, self._commit_timer):
            if timer is not None:
                timer.cancel()
        self._queue.clear()
        self._uncommitted.clear()
        self._turn_away(list(self._waiting))
