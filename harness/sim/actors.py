"""The clients of a run: each carries out its operations, at their times, and notes what came."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from broker.network.interface import Address
from broker.protocol.errors import ErrorCode
from harness.native.client import Client
from harness.native.coordinator import GroupCoordinator
from harness.native.errors import BrokerError, ClientError
from harness.native.produce_queue import Outcome
from harness.native.reader import FetchSettings, Reader
from harness.native.settings import ClientSettings
from harness.schedule.schedule import Operation
from harness.sim.member_actor import MemberActor
from harness.sim.operations import REPLICAS, TOPIC
from harness.sim.record import Commit, Record, Seen, Sent
from harness.sim.stage import Stage

GROUPS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"

_START_MS = 1_700_000_000_000
_POLL_TIMEOUT_S = 5.0
_RETRY_S = 0.2


class Actor:
    """One client on a host of its own. Its sends overlap, everything else is done in order."""

    def __init__(self, name: str, stage: Stage, record: Record, settings: ClientSettings) -> None:
        self.name = name
        self._loop = stage.simulation.loop
        self._record = record
        self._cluster = stage.cluster
        self._replicas = min(REPLICAS, len(stage.cluster.nodes))
        simulation = stage.simulation
        self._client = Client(
            simulation.network.of(name),
            [Address(node, 9092) for node in stage.cluster.nodes],
            random=simulation.decisions.random("client", name),
            now_ms=lambda: _START_MS + int(simulation.now_s * 1000),
            settings=settings,
        )
        self._producer = self._client.producer()
        self._reader = self._client.reader()
        self._coordinator = GroupCoordinator(self._client, name)
        self._positions: dict[tuple[int, int | None], int] = {}
        self._unsettled: dict[asyncio.Future[Outcome], Sent] = {}
        self._do: dict[str, Callable[[Operation], Awaitable[None]]] = {
            "send": self._send,
            "poll": self._poll,
            "commit": self._commit,
            "move": self._move,
            "reassign": self._reassign,
            "move_coordinator": self._move_coordinator,
        }
        member = self._member = MemberActor(
            name, self._client, record, lambda: int(simulation.now_s * 1e9)
        )
        self._do |= {
            "join": member.join,
            "consume": member.consume,
            "stall": member.stall,
            "leave": member.leave,
        }

    async def run(self, operations: Sequence[Operation]) -> None:
        for operation in operations:
            wait_s = operation.at_ms / 1000 - self._loop.time()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            await self._do[operation.do](operation)
        await self._member.stop()
        await self._settle()

    async def _settle(self) -> None:
        while self._unsettled:
            await asyncio.wait(list(self._unsettled))

    async def _send(self, operation: Operation) -> None:
        self._submit(operation.arguments["partition"], operation.arguments["value"])

    def _submit(self, partition: int, value: str) -> None:
        sent = Sent(self.name, partition, value, self._loop.time())
        self._record.sends.append(sent)
        settled = self._producer.submit(TOPIC, partition, [(None, value.encode())])
        self._unsettled[settled] = sent
        settled.add_done_callback(self._settled)

    def _settled(self, done: asyncio.Future[Outcome]) -> None:
        sent = self._unsettled.pop(done)
        sent.outcome, sent.done_s = done.result(), self._loop.time()

    async def _poll(self, operation: Operation) -> None:
        partition, node = operation.arguments["partition"], operation.arguments.get("node")
        position = self._positions.get((partition, node), 0)
        record = self._record
        record.polls += 1
        before = len(record.seen)
        try:
            self._positions[partition, node] = await read_from(
                self._reader, partition, position, node, self._note
            )
        except ClientError:
            # A node that is down, holds no replica, or is behind.
            record.failed_polls += 1
        if node is not None and self._cluster.follows(node, TOPIC, partition):
            record.follower_reads += len(record.seen) - before

    def _note(self, partition: int, offset: int, value: str) -> None:
        self._record.seen.append(Seen(partition, offset, value, self.name, self._loop.time()))

    async def _commit(self, operation: Operation) -> None:
        """For a group of the client's own name."""
        partition, offset = operation.arguments["partition"], operation.arguments["offset"]
        commit = Commit(self.name, partition, offset)
        self._record.commits.append(commit)
        try:
            await self._coordinator.commit(
                {(TOPIC, partition): offset}, generation=-1, member_id="", instance_id=None
            )
        except ClientError:
            return  # it may have been kept all the same
        commit.is_acknowledged = True

    async def _move(self, operation: Operation) -> None:
        """Another replica becomes the preferred one, and is elected."""
        await self._move_leadership((TOPIC, operation.arguments["partition"]), operation)

    async def _move_coordinator(self, operation: Operation) -> None:
        """Likewise, of the first partition of the coordinators' own topic."""
        topics = {"groups": GROUPS_TOPIC, "transactions": TRANSACTIONS_TOPIC}
        topic = topics[operation.arguments.get("of", "groups")]
        await self._move_leadership((topic, 0), operation)

    async def _move_leadership(self, key: tuple[str, int], operation: Operation) -> None:
        admin = self._client.admin

        async def move() -> bool:
            now = (await admin.describe_topic(key[0])).partitions[key[1]]
            others = [each for each in now.replicas if each != now.leader]
            if not others:
                return False
            chosen = others[operation.arguments.get("replica", 0) % len(others)]
            order = [chosen, *(each for each in now.replicas if each != chosen)]
            told = await admin.alter_partition_reassignments({key: order})
            return told[key] == ErrorCode.NONE and _elected(await admin.elect_leaders([key]), key)

        await self._try_to_move(move())

    async def _reassign(self, operation: Operation) -> None:
        key = (TOPIC, operation.arguments["partition"])

        async def reassign() -> bool:
            nodes = operation.arguments["nodes"]
            told = await self._client.admin.alter_partition_reassignments({key: nodes})
            return told[key] == ErrorCode.NONE

        await self._try_to_move(reassign())

    async def _try_to_move(self, move: Coroutine[Any, Any, bool]) -> None:
        self._record.moves += 1
        try:
            is_done = await move
        except ClientError:
            is_done = False
        self._record.failed_moves += not is_done

    async def create_topic(self, partitions: int, topic: str = TOPIC) -> None:
        """Again and again: an answer that is lost does not tell whether the topic is there."""
        while True:
            try:
                await self._client.admin.create_topic(
                    topic, partitions=partitions, replication_factor=self._replicas
                )
            except BrokerError as error:
                if error.code == ErrorCode.TOPIC_ALREADY_EXISTS:
                    return
                await asyncio.sleep(_RETRY_S)
            except ClientError:
                await asyncio.sleep(_RETRY_S)
            else:
                return

    async def ask_again(self, partitions: int) -> None:
        """One write to each partition when all is over: is it back?"""
        self._record.asked_again_s = self._loop.time()
        for partition in range(partitions):
            self._submit(partition, f"{self.name}.{partition}")
        await self._settle()

    async def read_everything(self, partitions: int) -> None:
        """Up to where the leader says that the log ends now."""
        for partition in range(partitions):
            found: list[Seen] = []
            end = (await self._reader.list_offset(TOPIC, partition, -1)).offset
            position = 0

            def note(partition: int, offset: int, value: str, found: list[Seen] = found) -> None:
                found.append(Seen(partition, offset, value, self.name, self._loop.time()))

            while position < end:
                position = await read_from(self._reader, partition, position, None, note)
            self._record.last_reading[partition] = found

    async def read_commits(self) -> None:
        """What every client has committed, by the coordinators' word."""
        for commit in self._record.commits:
            place = (commit.client, commit.partition)
            if place not in self._record.last_commits:
                found = await self._committed(commit.client, commit.partition)
                self._record.last_commits[place] = found
        for each in self._record.group_commits:
            place = (each.group, each.partition)
            if place not in self._record.last_group_commits:
                found = await self._committed(each.group, each.partition)
                self._record.last_group_commits[place] = found

    async def _committed(self, group: str, partition: int) -> int | None:
        coordinator, slot = GroupCoordinator(self._client, group), (TOPIC, partition)
        return (await self._client.retried(lambda: coordinator.committed([slot])))[slot]


def _elected(told: Mapping[tuple[str, int], ErrorCode], key: tuple[str, int]) -> bool:
    """Whoever leads already needs no election, and may not be named at all."""
    return told.get(key, ErrorCode.NONE) in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)


async def read_from(
    reader: Reader,
    partition: int,
    position: int,
    node: int | None,
    note: Callable[[int, int, str], None],
) -> int:
    """The offset to go on from. Raises ClientError."""
    settings = FetchSettings(node=node, max_wait_s=0.1, timeout_s=_POLL_TIMEOUT_S)
    fetched = await reader.fetch(TOPIC, partition, position, settings)
    for record in fetched.records:
        note(partition, record.offset, (record.value or b"").decode())
    return fetched.next_offset
