"""Plays a story of one transactional id: its producers, its coordinator, and the partitions A to C.

The machine is the real one in its real shell, on a partition of three replicas in memory, and the
markers are sent by the real sender. The partitions follow the rules of the log. P, Q ... are
processes of the application, all with the same transactional id.

init P | resume P         InitProducerId of a process that begins, or that goes on with its epoch
add P A B                 AddPartitionsToTxn
produce P A 0 x           a record with its sequence number; the leader verifies it (KIP-890)
unverified P A 0 x        the same, by a leader that verifies nothing
commit P | abort P        EndTxn of the classic version
produce2 | commit2 | abort2   as a client of transaction version 2: the leader adds the partition
keep 1 commit P           the network holds the request, as it is now
arrive 1                  and delivers it
down A | up A             the partition has no leader
lag | follow              the followers of the coordinator's partition stay behind, or come
fail over | fall back     another coordinator, with all that its log holds, or what is committed
wait 70                   seconds
epoch 32765               the producer has used up so many epochs
read A B | describe       what readers of committed records see; what the coordinator shows
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from broker.coordination.keyed_shards import reply_of
from broker.coordination.shard import Shard, ShardSettings, ShardState, Surroundings
from broker.coordination.step import Step
from broker.log.truncation import truncate_to
from broker.partition import Partition
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.fetch_check import ReplicaFetch
from broker.transaction_ends import TransactionEnds
from broker.transactions import records
from broker.transactions.initialising import Asked, NeedsProducerId
from broker.transactions.machine import ProducerPartitions, TransactionMachine
from broker.transactions.settings import TransactionSettings
from broker.transactions.transaction import BUMPING, CLASSIC, TopicPartition
from harness.sim.disposal import dispose
from harness.sim.loop import SimLoop
from tests.golden.transactions.data_partition import DataPartition
from tests.unit.broker.coordination.notes import Stage, stage, until
from tests.unit.broker.led_partition import LED_HERE

ID = "x"
_AS_IT_IS_NOW = frozenset("resume produce produce2 unverified commit abort commit2 abort2".split())
"""Commands of a process whose request is what it is when it is sent."""
_A_WHILE_S = 0.5
_TIMEOUT_MS = 60_000
_SETTINGS = TransactionSettings(timeout_check_interval_ms=1_000)


@dataclass
class Process:
    producer_id: int = -1
    epoch: int = -1


class Story:
    """Implements `transaction_markers.Leaders` for its partitions."""

    def __init__(self) -> None:
        self._loop = SimLoop()
        self._said: list[str] = []
        self._processes: dict[str, Process] = {}
        self._kept: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {}
        self._partitions = {name: DataPartition() for name in "ABC"}
        self._next_id = 100
        self._info = LED_HERE
        self._lags = False
        self._stage: Stage = self._run(stage(LED_HERE))
        self._ends = TransactionEnds(self, self._stage.spawn)
        self._shard: Shard[TransactionMachine] | None = None

    def close(self) -> None:
        dispose(self._loop)

    def interpret(self, lines: list[str]) -> list[str]:
        self._said = []
        for line in lines:
            self._run(self._play(line))
        return self._said or ["nothing is answered"]

    def _run(self, work: Any) -> Any:
        return self._loop.run_main(work, deadline_s=self._loop.time() + 100_000.0)

    async def _play(self, line: str) -> None:
        if self._shard is None:
            await self._begin_shard()
        await self._command(line)()
        await self._settle()

    def _command(self, line: str) -> Callable[[], Coroutine[Any, Any, None]]:
        """The command with its words read now: a process may have another epoch later."""
        command, *words = line.split()
        found = getattr(self, f"_do_{command}")
        if command in _AS_IT_IS_NOW:
            who = replace(self._processes.setdefault(words[0], Process()))
            return lambda: found(line, words[0], who, *words[1:])
        return lambda: found(line, *words)

    async def _settle(self) -> None:
        for _ in range(8):
            if not self._lags:
                self._follow()
            await asyncio.sleep(_A_WHILE_S / 8)

    @property
    def _active(self) -> Shard[TransactionMachine]:
        assert self._shard is not None
        return self._shard

    async def _begin_shard(self) -> None:
        settings = ShardSettings(load_buffer_bytes=1 << 20, commit_timeout_s=1000.0)
        around = Surroundings(self._stage.clock, self._stage.spawn, settings, self._decided)
        self._shard = Shard(self._stage.partition, lambda: TransactionMachine(_SETTINGS), around)
        await until(lambda: self._active.state is ShardState.ACTIVE)

    def _decided(self, partition: Partition, step: Step) -> None:
        for record in step.records:
            if record.value is None:
                self._said.append("  written: tombstone")
                continue
            after = records.decode_value(ID, record.value)
            held = " ".join(topic for topic, _ in after.partitions)
            identity = f"producer {after.producer_id} epoch {after.producer_epoch}"
            text = f"  written: {after.state.label}, {identity}"
            self._said.append(f"{text}, {held}" if held else text)
        self._ends.step_taken(self._active, step)

    # The partitions

    def exists(self, partition: TopicPartition) -> bool:
        return partition[0] in self._partitions

    def leader_of(self, partition: TopicPartition) -> int | None:
        return 1 if self._partitions[partition[0]].has_leader else None

    async def write_markers(
        self, broker_id: int, body: m.WriteTxnMarkersRequest
    ) -> m.WriteTxnMarkersResponse:
        results: list[m.WritableTxnMarkerResult] = []
        for marker in body.markers:
            topics: list[m.WritableTxnMarkerTopicResult] = []
            for topic in marker.topics:
                if not self._partitions[topic.name].has_leader:
                    raise UnansweredError("the leader is gone")
                code = self._partitions[topic.name].end(marker)
                kind = "commit" if marker.transaction_result else "abort"
                told = "" if code == ErrorCode.NONE else f": {code.name}"
                self._said.append(
                    f"  marker: {kind} of producer {marker.producer_id} epoch "
                    f"{marker.producer_epoch} to {topic.name}, by coordinator epoch "
                    f"{marker.coordinator_epoch}{told}"
                )
                part = m.WritableTxnMarkerPartitionResult(partition_index=0, error_code=code)
                topics.append(m.WritableTxnMarkerTopicResult(name=topic.name, partitions=[part]))
            results.append(m.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
        return m.WriteTxnMarkersResponse(markers=results)

    # Requests

    async def _ask(self, run: Any) -> Any:
        try:
            return await reply_of(self._active.ask(run))
        except KafkaError as error:
            return error.code

    def _answer_later(self, line: str, work: Coroutine[Any, Any, str]) -> None:
        async def answer() -> None:
            told = await work
            self._said.append(f"{line}: {told}")

        self._stage.spawn(answer())

    async def _do_init(self, line: str, name: str) -> None:
        self._answer_later(line, self._init(name, None))

    async def _do_resume(self, line: str, name: str, who: Process) -> None:
        self._answer_later(line, self._init(name, (who.producer_id, who.epoch)))

    async def _init(self, name: str, expected: tuple[int, int] | None) -> str:
        fresh_id: int | None = None
        while True:
            asked = Asked(
                transactional_id=ID,
                timeout_ms=_TIMEOUT_MS,
                expected=expected,
                fresh_id=fresh_id,
            )
            answer = await self._ask(
                lambda machine, ticket, now, asked=asked: machine.init_producer_id(
                    ticket, asked, now
                )
            )
            if not isinstance(answer, NeedsProducerId):
                break
            fresh_id = self._fresh_id()
        return self._identified(name, answer)

    def _fresh_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _identified(self, name: str, answer: Any) -> str:
        if isinstance(answer, ErrorCode):
            return answer.name
        if answer.error_code:
            return ErrorCode(answer.error_code).name
        if answer.producer_id < 0:
            return "NONE"
        self._processes[name] = Process(answer.producer_id, answer.producer_epoch)
        return f"producer {answer.producer_id} epoch {answer.producer_epoch}"

    async def _do_add(self, line: str, name: str, *partitions: str) -> None:
        self._answer_later(line, self._add(self._processes[name], partitions, CLASSIC))

    async def _add(self, who: Process, partitions: tuple[str, ...], version: int) -> str:
        asked = ProducerPartitions(
            ID, who.producer_id, who.epoch, [(each, 0) for each in partitions]
        )
        code: ErrorCode = await self._ask(
            lambda machine, ticket, now: machine.add_partitions(ticket, asked, version, now)
        )
        return code.name

    async def _do_unverified(
        self, line: str, _: str, who: Process, partition: str, sequence: str, value: str
    ) -> None:
        found = self._partitions[partition]
        told = found.append(who.producer_id, who.epoch, int(sequence), value)
        self._said.append(f"{line}: {told}")

    async def _do_produce(
        self, line: str, _: str, who: Process, partition: str, sequence: str, value: str
    ) -> None:
        self._answer_later(line, self._produce(who, partition, sequence, value, CLASSIC))

    async def _do_produce2(
        self, line: str, _: str, who: Process, partition: str, sequence: str, value: str
    ) -> None:
        self._answer_later(line, self._produce(who, partition, sequence, value, BUMPING))

    async def _produce(
        self, who: Process, partition: str, sequence: str, value: str, version: int
    ) -> str:
        found = self._partitions[partition]
        if not found.is_open(who.producer_id, who.epoch):
            told = await (
                self._add(who, (partition,), version)
                if version >= BUMPING
                else self._verify(who, partition)
            )
            if told != ErrorCode.NONE.name:
                return f"{told}, says the coordinator"
        return found.append(who.producer_id, who.epoch, int(sequence), value)

    async def _verify(self, who: Process, partition: str) -> str:
        asked = ProducerPartitions(ID, who.producer_id, who.epoch, [(partition, 0)])
        codes = await self._ask(lambda machine, ticket, _: machine.verify_partitions(ticket, asked))
        code: ErrorCode = codes if isinstance(codes, ErrorCode) else codes[partition, 0]
        return code.name

    async def _do_commit(self, line: str, name: str, who: Process) -> None:
        self._answer_later(line, self._end(name, who, True, CLASSIC))

    async def _do_abort(self, line: str, name: str, who: Process) -> None:
        self._answer_later(line, self._end(name, who, False, CLASSIC))

    async def _do_commit2(self, line: str, name: str, who: Process) -> None:
        self._answer_later(line, self._end(name, who, True, BUMPING))

    async def _do_abort2(self, line: str, name: str, who: Process) -> None:
        self._answer_later(line, self._end(name, who, False, BUMPING))

    async def _end(self, name: str, who: Process, commit: bool, version: int) -> str:
        body = m.EndTxnRequest(
            transactional_id=ID,
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            committed=commit,
        )
        fresh_id: int | None = None
        while True:
            answer = await self._ask(
                lambda machine, ticket, now, fresh_id=fresh_id: machine.end(
                    ticket, body, version, fresh_id, now
                )
            )
            if not isinstance(answer, NeedsProducerId):
                return self._identified(name, answer)
            fresh_id = self._fresh_id()

    # What happens

    async def _do_keep(self, _: str, number: str, *command: str) -> None:
        self._kept[number] = self._command(" ".join(command))

    async def _do_arrive(self, _: str, number: str) -> None:
        await self._kept.pop(number)()

    async def _do_down(self, _: str, name: str) -> None:
        self._partitions[name].has_leader = False

    async def _do_up(self, _: str, name: str) -> None:
        self._partitions[name].has_leader = True

    async def _do_lag(self, _: str) -> None:
        self._lags = True

    async def _do_follow(self, _: str) -> None:
        self._lags = False

    def _follow(self) -> None:
        partition = self._stage.partition
        end = partition.log.end_offset
        for follower in (1, 2):
            partition.fetch_arrived(
                ReplicaFetch(
                    replica=follower,
                    broker_epoch=1,
                    current_leader_epoch=self._info.leader_epoch,
                    fetch_offset=end,
                    last_fetched_epoch=partition.log.epochs.epoch_at(end - 1) if end else -1,
                    log_start_offset=0,
                )
            )

    async def _do_fail(self, _: str, _over: str) -> None:
        await self._lead_again()

    async def _do_fall(self, _: str, _back: str) -> None:
        log = self._stage.partition.log
        self._active.close()
        await truncate_to(log, log.high_watermark)
        await self._lead_again()

    async def _lead_again(self) -> None:
        self._active.close()
        info = self._info
        self._info = replace(
            info, leader_epoch=info.leader_epoch + 1, partition_epoch=info.partition_epoch + 1
        )
        await self._stage.partition.become(self._info)
        await self._begin_shard()

    async def _do_wait(self, _: str, seconds: str) -> None:
        self._stage.clock.time_ms += int(seconds) * 1000
        for _second in range(int(seconds)):
            await asyncio.sleep(1)
            await self._settle()

    async def _do_epoch(self, _: str, epoch: str) -> None:
        self._active.tell(
            lambda machine, _: Step(
                [records.record(replace(machine.transactions[ID], producer_epoch=int(epoch)))]
            )
        )

    async def _do_read(self, _: str, *names: str) -> None:
        for name in names:
            self._said.append(f"read {name}: {self._partitions[name].committed()}")

    async def _do_describe(self, line: str) -> None:
        self._answer_later(line, self._described())

    async def _described(self) -> str:
        answer = await self._ask(
            lambda machine, ticket, _: machine.describe_transaction(ticket, ID)
        )
        if isinstance(answer, ErrorCode):
            return answer.name
        held = " ".join(each.topic for each in answer.topics)
        identity = f"producer {answer.producer_id} epoch {answer.producer_epoch}"
        return f"{answer.transaction_state}, {identity}" + (f", {held}" if held else "")
