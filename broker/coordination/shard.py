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
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from broker.coordination.batches import Unit, build_batches, build_marker, size_of
from broker.coordination.errors import for_clients
from broker.coordination.held_answers import HeldAnswers
from broker.coordination.loading import replay_partition
from broker.coordination.step import (
    Machine,
    Now,
    Reply,
    Step,
    Ticket,
    TransactionalMachine,
    TransactionEnd,
)
from broker.coordination.surroundings import Surroundings
from broker.log.origin import Origin
from broker.log.record_check import WorkBudget
from broker.log.validation import Checked
from broker.observe.events import emit
from broker.partition import Partition
from broker.protocol.batch import HEADER_SIZE
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.leader import ACKS_ALL

_log = logging.getLogger(__name__)

MachineT = TypeVar("MachineT", bound=Machine)

_STEPS_AT_ONCE = 256
_RETRY_S = 1.0


class ShardState(Enum):
    LOADING = auto()
    ACTIVE = auto()
    CLOSED = auto()


_Job = tuple[Callable[[Any, Ticket, Now], Step], Ticket, bool]
"""What to run, the ticket of its reply, and whether it runs alone (`Shard.ask_alone`)."""


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
        self._answers = HeldAnswers(partition, around.settings.commit_timeout_s)
        self._end_offset = 0
        self._is_scheduled = False
        self._is_writing = False
        self._ticks_not_before_s = 0.0
        self._tick_timer: asyncio.TimerHandle | None = None
        partition.watchers.call(self._partition_changed)
        around.spawn(self._load())

    # Requests

    def ask(self, run: Callable[[MachineT, Ticket, Now], Step]) -> asyncio.Future[Any]:
        """Done when the machine has replied: with its reply, or with a KafkaError as the result.

        Raises KafkaError when the shard is not active.
        """
        outcome, replied = self._awaited()
        self.call(run, replied)
        return outcome

    def call(
        self, run: Callable[[MachineT, Ticket, Now], Step], replied: Callable[[Any], None]
    ) -> None:
        """As `ask`, without a future: `replied` is called in the moment of the reply, must not
        raise, and may ask the shard again."""
        self._enqueue(run, replied, is_alone=False)

    def ask_alone(self, run: Callable[[MachineT, Ticket, Now], Step]) -> asyncio.Future[Any]:
        """Same as `ask`, for a step whose decision looks at the partition's log.

        The log has everything that was decided before, and what the step writes goes in by itself.
        Steps with records of a transaction, and with its end, are asked for in this way: producers
        are fenced by what the log knows of them.
        """
        outcome, replied = self._awaited()
        self._enqueue(run, replied, is_alone=True)
        return outcome

    def _awaited(self) -> tuple[asyncio.Future[Any], Callable[[Any], None]]:
        outcome: asyncio.Future[Any] = self._loop.create_future()
        return outcome, lambda reply: None if outcome.done() else outcome.set_result(reply)

    def _enqueue(
        self,
        run: Callable[[MachineT, Ticket, Now], Step],
        replied: Callable[[Any], None],
        *,
        is_alone: bool,
    ) -> None:
        if self.state is not ShardState.ACTIVE:
            raise self._not_active()
        ticket = Ticket()
        self._answers.expect(ticket, replied)
        self._queue.append((run, ticket, is_alone))
        self._schedule()

    def tell(self, run: Callable[[MachineT, Now], Step]) -> None:
        """A step without a reply; also while the shard loads, for afterwards."""
        if self.state is not ShardState.CLOSED:
            self._queue.append((lambda machine, _, now: run(machine, now), Ticket(), False))
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

    @property
    def led_at_s(self) -> float:
        """The last moment in which this node led the partition for certain."""
        return self._answers.led_at_s

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
        end: TransactionEnd | None = None
        now = self._now()
        for _ in range(min(len(self._queue), _STEPS_AT_ONCE)):
            run, ticket, is_alone = self._queue[0]
            if is_alone and units:
                break
            self._queue.popleft()
            step = self._decided(run, ticket, now)
            if step.records or step.ends is not None:
                parts = [step.records] if step.is_atomic else [[each] for each in step.records]
                wanted: list[Unit] = [(part, size_of(part)) for part in parts if part]
                code = refusal or self._too_large(wanted)
                if code:
                    step = self._refused(step, code, now)
                else:
                    self._replay(step)
                    units += wanted
                    end = step.ends
            replies += step.replies
            self._around.decided(self.partition, step)
            if is_alone:
                break
        if units:
            settings = self._around.settings
            batches = build_batches(units, self._batch_bytes_max, settings.codec, now.wall_ms)
            self._write(batches, replies)
        elif end is not None:
            self._write(deque([build_marker(end, now.wall_ms)]), replies)
        else:
            self._release_when_committed(replies)
        self._set_tick_timer()
        if self._queue:
            self._schedule()

    def _replay(self, step: Step) -> None:
        for record in step.records:
            self.machine.replay(record)
        if step.ends is not None:
            assert isinstance(self.machine, TransactionalMachine)
            self.machine.end_transaction(step.ends)

    def _decided(self, run: Callable[[Any, Ticket, Now], Step], ticket: Ticket, now: Now) -> Step:
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
        fit = max([size for _, size in units], default=0) <= self._batch_bytes_max
        return ErrorCode.NONE if fit else for_clients(ErrorCode.MESSAGE_TOO_LARGE)

    def _refused(self, step: Step, code: ErrorCode, now: Now) -> Step:
        self._ticks_not_before_s = self._loop.time() + _RETRY_S
        if step.refused is None:
            return Step()
        instead = step.refused(code, now)
        assert not instead.writes, "what follows a refusal cannot need another append"
        return instead

    def _now(self) -> Now:
        return Now(self._loop.time(), self._around.clock.now_ms())

    # Writing

    @property
    def _batch_bytes_max(self) -> int:
        """How large the records of one batch may be together."""
        config = self.partition.log.config
        return min(config.max_message_bytes, config.segment_bytes) - HEADER_SIZE

    def _write(self, batches: deque[Checked], replies: list[Reply]) -> None:
        append = self.partition.append_at_once
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
        self._answers.turn_away(self.machine.tickets())
        self.state = ShardState.LOADING
        self._around.spawn(self._load())

    def _written(self, replies: list[Reply]) -> None:
        self._end_offset = self.partition.log.end_offset
        self._answers.appended(self._end_offset)
        self._release_when_committed(replies)

    # Answers

    def _release_when_committed(self, replies: list[Reply]) -> None:
        if replies:
            self._answers.hold(self._end_offset, replies)

    def _partition_changed(self) -> None:
        """In the moment in which the high watermark, or the leader, has changed."""
        if not self.partition.leads_in(self.leader_epoch):
            self.close()
        else:
            self._answers.release()

    def _answer(self, ticket: Ticket, result: Any) -> None:
        self._answers.answer(ticket, result)

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
                    self.machine,
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
                first = (lambda machine, _, now: machine.loaded(now), Ticket(), False)
                self._queue.appendleft(first)
                self._schedule()

    def close(self) -> None:
        """End with the leader epoch. Pending requests are answered NOT_COORDINATOR."""
        if self.state is ShardState.CLOSED:
            return
        self.state = ShardState.CLOSED
        self.partition.watchers.call_no_more(self._partition_changed)
        if self._tick_timer is not None:
            self._tick_timer.cancel()
        self._queue.clear()
        self._answers.close()
