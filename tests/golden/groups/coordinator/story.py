"""Plays a story of one coordinator: its log, its followers, what it answers, and who comes next.

The machine is the real one in its real shell, on a partition of three replicas in memory.

buffer 100                how many bytes are read at once when the partition is loaded
join A | leave A          a member of the consumer protocol of group `g`
commit A 0=5 1=7          offsets of partitions of t, as a member in the epoch that A knows
commit - 0=5              as a client that is no member, for a group that has none
fetch - 0 1 | fetch A 0   OffsetFetch: what is committed
together X; Y             both requests are there before the coordinator takes a step
follow                    the followers fetch everything, so that it is committed
fail over                 another leader epoch, with everything that the log holds
fall back                 another leader epoch, with what is committed only
load                      the same, and requests that come while it still loads
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from broker.coordination.shard import Shard, ShardState
from broker.coordination.surroundings import ShardSettings, Surroundings
from broker.groups.group import GroupClient
from broker.groups.machine import GroupMachine
from broker.groups.offsets import NO_TOPIC_ID
from broker.groups.read_offsets import ReadOffsets
from broker.groups.settings import GroupSettings
from broker.log.truncation import truncate_to
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.replication.fetch_check import ReplicaFetch
from harness.sim.disposal import dispose
from harness.sim.loop import SimLoop
from tests.golden.groups.shell import Topics
from tests.unit.broker.coordination.notes import Stage, stage, until
from tests.unit.broker.led_partition import LED_HERE

GROUP = "g"
TOPIC = "t"
_A_WHILE_S = 0.5


class Story:
    def __init__(self) -> None:
        self._loop = SimLoop()
        self._topics = Topics({TOPIC: 3})
        self._epochs: dict[str, int] = {}
        self._said: list[str] = []
        self._info = LED_HERE
        self._buffer_bytes = 1 << 20
        self._stage: Stage = self._run(stage(LED_HERE))
        self._shard: Shard[GroupMachine] | None = None

    def close(self) -> None:
        dispose(self._loop)

    def interpret(self, lines: list[str]) -> list[str]:
        self._said = []
        for line in lines:
            self._run(self._play(line))
        return self._said or ["nothing is answered"]

    def _run(self, work: Any) -> Any:
        return self._loop.run_main(work, deadline_s=self._loop.time() + 60.0)

    async def _play(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        if self._shard is None and command != "buffer":
            self._shard = self._new_shard()
            await until(lambda: self._active.state is ShardState.ACTIVE)
        await getattr(self, f"_do_{command}")(rest)
        await asyncio.sleep(_A_WHILE_S)

    @property
    def _active(self) -> Shard[GroupMachine]:
        assert self._shard is not None
        return self._shard

    def _new_shard(self) -> Shard[GroupMachine]:
        settings = ShardSettings(load_buffer_bytes=self._buffer_bytes, commit_timeout_s=50.0)
        around = Surroundings(self._stage.clock, self._stage.spawn, settings)
        rules = GroupSettings(group_consumer_assignment_interval_ms=0)
        return Shard(
            self._stage.partition, lambda: GroupMachine(rules, self._topics, lambda: "id"), around
        )

    # Commands

    async def _do_buffer(self, count: str) -> None:
        self._buffer_bytes = int(count)

    async def _do_together(self, rest: str) -> None:
        for line in rest.split("; "):
            self._submit(line)

    async def _do_join(self, rest: str) -> None:
        self._submit(f"join {rest}")

    async def _do_leave(self, rest: str) -> None:
        self._submit(f"leave {rest}")

    async def _do_commit(self, rest: str) -> None:
        self._submit(f"commit {rest}")

    async def _do_fetch(self, rest: str) -> None:
        self._submit(f"fetch {rest}")

    async def _do_follow(self, _: str) -> None:
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

    async def _do_fail(self, _over: str) -> None:
        await self._lead_again()
        await until(lambda: self._active.state is ShardState.ACTIVE)

    async def _do_fall(self, _back: str) -> None:
        partition = self._stage.partition
        self._active.close()
        await truncate_to(partition.log, partition.log.high_watermark)
        await self._lead_again()
        await until(lambda: self._active.state is ShardState.ACTIVE)

    async def _do_load(self, rest: str) -> None:
        await self._lead_again()
        self._submit(rest)
        await until(lambda: self._active.state is ShardState.ACTIVE)

    async def _lead_again(self) -> None:
        info = self._info
        self._info = replace(
            info, leader_epoch=info.leader_epoch + 1, partition_epoch=info.partition_epoch + 1
        )
        self._active.close()
        await self._stage.partition.become(self._info)
        self._shard = self._new_shard()

    # Requests

    def _submit(self, line: str) -> None:
        kind, who, *rest = line.split()
        run, words = getattr(self, f"_ask_{kind}")(who, rest)

        def answered(result: Any) -> None:
            told = result.code.name if isinstance(result, KafkaError) else words(result)
            self._said.append(f"{line}: {told}")

        try:
            asked = self._active.ask(run)
        except KafkaError as refused:
            answered(refused)
            return
        asked.add_done_callback(lambda done: answered(done.result()))

    def _ask_join(self, who: str, _: list[str]) -> tuple[Any, Callable[[Any], str]]:
        return self._beat(who, 0)

    def _ask_leave(self, who: str, _: list[str]) -> tuple[Any, Callable[[Any], str]]:
        return self._beat(who, -1)

    def _beat(self, who: str, epoch: int) -> tuple[Any, Callable[[Any], str]]:
        body = m.ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=who,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if epoch == 0 else -1,
            subscribed_topic_names=[TOPIC] if epoch == 0 else None,
            topic_partitions=[] if epoch == 0 else None,
        )
        client = GroupClient(who, "/10.0.0.1")

        def words(answer: m.ConsumerGroupHeartbeatResponse) -> str:
            if answer.error_code:
                return ErrorCode(answer.error_code).name
            self._epochs[who] = answer.member_epoch
            return f"epoch {answer.member_epoch}"

        return (
            lambda machine, ticket, now: machine.consumer_group_heartbeat(
                ticket, body, client, now
            ),
            words,
        )

    def _ask_commit(self, who: str, offsets: list[str]) -> tuple[Any, Callable[[Any], str]]:
        pairs = [each.split("=") for each in offsets]
        parts = [
            m.OffsetCommitRequestPartition(partition_index=int(index), committed_offset=int(offset))
            for index, offset in pairs
        ]
        body = m.OffsetCommitRequest(
            group_id=GROUP,
            member_id="" if who == "-" else who,
            generation_id_or_member_epoch=self._epochs.get(who, -1),
            topics=[m.OffsetCommitRequestTopic(name=TOPIC, partitions=parts)],
        )

        def words(answer: m.OffsetCommitResponse) -> str:
            codes = [ErrorCode(each.error_code).name for each in answer.topics[0].partitions]
            return " ".join(dict.fromkeys(codes))

        return lambda machine, ticket, now: machine.offset_commit(ticket, body, 9, now), words

    def _ask_fetch(self, who: str, indexes: list[str]) -> tuple[Any, Callable[[Any], str]]:
        topic = m.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=list(map(int, indexes)))
        body = m.OffsetFetchRequestGroup(
            group_id=GROUP,
            member_id=None if who == "-" else who,
            member_epoch=self._epochs.get(who, -1),
            topics=[topic],
        )

        def words(found: ReadOffsets) -> str:
            if found.code:
                return found.code.name
            offsets = {each: found.find(TOPIC, NO_TOPIC_ID, int(each)).offset for each in indexes}
            return " ".join(
                f"{each}={offset}" if offset >= 0 else f"{each} has none"
                for each, offset in offsets.items()
            )

        return lambda machine, ticket, now: machine.offset_fetch(ticket, body), words
