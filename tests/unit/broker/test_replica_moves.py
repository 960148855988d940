"""Replicas move between log directories: nothing is lost, and never are two copies live."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from broker import partitions
from broker.disk.memory import MemoryDisk
from broker.log.checkpoints import LOG_START
from broker.metadata.changes import ConfigChanged, ResourceType
from broker.node import Node
from broker.partition import Partition
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.nodes import (
    Wire,
    create_topic,
    fetch,
    formatted,
    produce,
    running_node,
    wait_until,
    wire,
)
from tests.unit.broker.log.builders import batch

SLOW = {"replica.alter.log.dirs.io.max.bytes.per.second": "1"}
Disks = dict[str, MemoryDisk]


async def two_disks() -> Disks:
    one, other = MemoryDisk(), MemoryDisk()
    await formatted(one)
    await formatted(other, directory=2)
    return {"a": one, "b": other}


async def move(client: Wire, target: str, topic: str = "t", index: int = 0) -> int:
    topics = [m.AlterReplicaLogDirTopic(name=topic, partitions=[index])]
    body = m.AlterReplicaLogDirsRequest(dirs=[m.AlterReplicaLogDir(path=target, topics=topics)])
    answer = await client.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, body)
    [result] = answer.results
    [part] = result.partitions
    assert (result.topic_name, part.partition_index) == (topic, index)
    return int(part.error_code)


async def lying(client: Wire) -> list[tuple[str, bool, int]]:
    """The directory, whether it is a copy on its way, and its lag, of each replica of t-0."""
    answer = await client.ask(ApiKey.DESCRIBE_LOG_DIRS, 4, m.DescribeLogDirsRequest(topics=None))
    return [
        (each.log_dir, part.is_future_key, part.offset_lag)
        for each in answer.results
        for topic in each.topics
        for part in topic.partitions
    ]


def held(node: Node) -> Partition:
    [partition] = node.partitions
    return partition


def known_directory(node: Node) -> bytes | None:
    return node.metadata.image.topics["t"].partitions[0].directory_of(1)


async def directories_of(disks: Disks) -> list[str]:
    return [
        f"{path}/{name}" for path in disks for name in await disks[path].list("") if "t-0" in name
    ]


async def values(client: Wire) -> int:
    """How many records there are, each with its own number as its value."""
    offset = 0
    while True:
        records = (await fetch(client, offset)).records
        if not records:
            return offset
        assert b"value-%d." % offset in bytes(records)
        offset += 1


async def fill(client: Wire, first: int, end: int) -> None:
    for number in range(first, end):
        answer = await produce(client, batch(b"value-%d." % number))
        assert (answer.error_code, answer.base_offset) == (0, number)


async def set_speed(node: Node, value: str | None) -> None:
    name = "replica.alter.log.dirs.io.max.bytes.per.second"
    await node.change(lambda: [ConfigChanged(ResourceType.BROKER, "1", name, value)])


async def test_a_replica_is_moved_with_all_its_records_and_stays_there() -> None:
    disks = await two_disks()
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t", segment_bytes="300")
        await fill(client, 0, 20)
        assert len(held(node).log.segments) > 3
        before = held(node).log_dir
        target = "b" if before == "a" else "a"
        await wait_until(lambda: known_directory(node) is not None)
        assert await move(client, target) == ErrorCode.NONE
        await wait_until(lambda: held(node).log_dir == target)
        await fill(client, 20, 25)
        assert await values(client) == 25
        assert await lying(client) == [(target, False, 0)]
        await wait_until(lambda: not any(node.partitions.directories[before].logs))
        ids = {path: bytes(15) + bytes([number]) for number, path in enumerate("ab", 1)}
        assert known_directory(node) == ids[target]
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        assert held(node).log_dir == target
        assert await values(client) == 25


async def test_writes_go_on_while_a_replica_moves_and_the_copy_is_shown() -> None:
    disks = await two_disks()
    async with running_node(SLOW, disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        await fill(client, 0, 5)
        before = held(node).log_dir
        target = "b" if before == "a" else "a"
        await move(client, target)
        found = node.role.moves.find(held(node))
        assert found is not None
        await wait_until(lambda: found.copy is not None and found.copy.end_offset == 5)
        await fill(client, 5, 8)
        assert sorted(await lying(client)) == sorted([(before, False, 0), (target, True, 3)])
        # Back to where it lies: the move is over, and its copy is gone.
        assert await move(client, before) == ErrorCode.NONE
        assert await lying(client) == [(before, False, 0)]
        assert await directories_of(disks) == [f"{before}/t-0"]
        await set_speed(node, "1000000000")
        await move(client, target)
        await wait_until(lambda: held(node).log_dir == target)
        assert await values(client) == 8


async def test_a_move_that_a_stop_cuts_short_is_dropped() -> None:
    disks = await two_disks()
    async with running_node(SLOW, disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        await fill(client, 0, 5)
        before = held(node).log_dir
        await move(client, "b" if before == "a" else "a")
    assert await directories_of(disks) == [f"{before}/t-0"]
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        assert held(node).log_dir == before
        assert await values(client) == 5


async def test_a_move_that_is_taken_back_before_its_first_step_can_be_asked_for_again() -> None:
    disks = await two_disks()
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        await fill(client, 0, 5)
        partition, moves = held(node), node.role.moves
        before = partition.log_dir
        target = "b" if before == "a" else "a"
        # Neither call waits before the move is cancelled, so its task never ran.
        await moves.begin(partition, target)
        await moves.begin(partition, before)
        assert moves.find(partition) is None
        assert await move(client, target) == ErrorCode.NONE
        await wait_until(lambda: partition.log_dir == target)
        assert await values(client) == 5


async def test_of_two_that_ask_at_once_for_another_directory_one_begins_the_move() -> None:
    disks = await two_disks()
    await formatted(third := MemoryDisk(), directory=3)
    disks["c"] = third
    async with running_node(SLOW, disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        await fill(client, 0, 5)
        partition, moves = held(node), node.role.moves
        before = partition.log_dir
        left, target = sorted(set(disks) - {before})
        await moves.begin(partition, left)
        first = moves.find(partition)
        assert first is not None
        await wait_until(lambda: first.copy is not None)
        # Both wait for the end of the first move.
        await asyncio.gather(*(moves.begin(partition, target) for _ in range(2)))
        found = moves.find(partition)
        assert found is not None
        await wait_until(lambda: found.copy is not None and found.copy.end_offset == 5)
        copies = [each for each in await directories_of(disks) if each.endswith("-future")]
        assert [each.partition("/")[0] for each in copies] == [target]
        # One wants it back and one forward: whatever comes of it, no move is forgotten.
        await asyncio.gather(moves.begin(partition, before), moves.begin(partition, left))
        await moves.stop(partition)
        assert moves.find(partition) is None
        assert await directories_of(disks) == [f"{before}/t-0"]


async def test_a_topic_is_deleted_while_its_replica_moves() -> None:
    disks = await two_disks()
    async with running_node(SLOW, disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        await fill(client, 0, 5)
        await move(client, "b" if held(node).log_dir == "a" else "a")
        body = m.DeleteTopicsRequest(topics=[m.DeleteTopicState(name="t")], timeout_ms=10_000)
        await client.ask(ApiKey.DELETE_TOPICS, 6, body)
        assert len(node.partitions) == 0
        left = await directories_of(disks)
        assert all(name.endswith("-delete") for name in left)


async def test_a_log_that_is_cut_off_meanwhile_is_cut_off_in_its_copy() -> None:
    disks = await two_disks()
    async with running_node(SLOW, disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        await fill(client, 0, 10)
        partition = held(node)
        target = "b" if partition.log_dir == "a" else "a"
        await move(client, target)
        found = node.role.moves.find(partition)
        assert found is not None
        await wait_until(lambda: found.copy is not None and found.copy.end_offset == 10)
        # As another leader's records would do it; this node leads again in a later epoch.
        partition.log.high_watermark = 4
        await partition.log.truncate_to(4)
        partition.log.epochs.assign(partition.leader_epoch + 7, 4)
        records = batch(b"other", offset=4, leader_epoch=partition.leader_epoch + 7)
        partition.log.append_replicated(records)
        partition.log.advance_high_watermark(5)
        partition.log.epochs.assign(partition.leader_epoch + 9, 5)  # and has written nothing yet
        await set_speed(node, "1000000000")
        await wait_until(lambda: held(node).log_dir == target)
        log = held(node).log
        assert (log.end_offset, log.high_watermark) == (5, 5)
        last_epoch = partition.leader_epoch + 9
        assert log.epochs.entries[-2:] == ((last_epoch - 2, 4), (last_epoch, 5))


async def test_deleted_records_stay_deleted() -> None:
    disks = await two_disks()
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        await fill(client, 0, 10)
        target = "b" if held(node).log_dir == "a" else "a"
        assert await held(node).log.delete_records(6) == 6
        await move(client, target)
        await wait_until(lambda: held(node).log_dir == target)
        log = held(node).log
        assert (log.start_offset, log.end_offset, log.high_watermark) == (6, 10, 10)
        # Or a crash right after the move would bring them back.
        assert b"\nt 0 6\n" in await disks[target].read(LOG_START)
    async with running_node(disks=dict(disks)) as node:
        assert held(node).log.start_offset == 6


async def test_what_cannot_be_moved_is_refused() -> None:
    disks = await two_disks()
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        assert await move(client, "nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
        # One that is not here yet will begin where it was wanted.
        for index, target in ((1, "b"), (2, "b"), (3, "a")):
            assert await move(client, target, "u", index) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await create_topic(client, "u", partitions=4)
        where = {each.index: each.log_dir for each in node.partitions if each.topic == "u"}
        assert (where[1], where[2], where[3]) == ("b", "b", "a")
        await node.change(
            lambda: [ConfigChanged(ResourceType.BROKER, "1", "cordoned.log.dirs", "*")]
        )
        assert await move(client, "b", "u", 3) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


async def test_wishes_for_partitions_that_never_come_make_room_for_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partitions, "_PREFERENCES_MAX", 3)
    disks = await two_disks()
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        await move(client, "a", "u", 0)
        for index in range(2):
            await move(client, "b", "never", index)
        for index in (0, 1, 2):  # the wish for u-0 is renewed, so it is none of the oldest
            assert await move(client, "b", "u", index) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await create_topic(client, "u", partitions=3)
        assert [each.log_dir for each in node.partitions] == ["b", "b", "b"]


async def test_a_disk_that_fails_keeps_the_replica_where_it_is() -> None:
    disks = await two_disks()
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        await create_topic(client, "t")
        await fill(client, 0, 5)
        before = held(node).log_dir
        target = "b" if before == "a" else "a"
        for operation in ("append", "rename", "replace"):
            disks[target].fail(operation)
            await move(client, target)
            await wait_until(lambda: node.role.moves.find(held(node)) is None)
            disks[target].heal()
            assert held(node).log_dir == before
        await fill(client, 5, 7)
        assert await values(client) == 7


class Crash:
    """Both disks lose their power at the chosen operation, and nothing works after it."""

    def __init__(self, disks: Disks, is_due: Callable[[str, str], bool]) -> None:
        self._disks = disks
        self._is_due = is_due
        self.is_over = False
        for path, disk in disks.items():
            disk.before = self._hook(path)

    def _hook(self, path: str) -> Callable[[str, str], Awaitable[None]]:
        async def before(operation: str, name: str) -> None:
            if not self.is_over and self._is_due(operation, f"{path}/{name}"):
                self.is_over = True
                for disk in self._disks.values():
                    disk.power_loss()
            if self.is_over:
                raise OSError(errno.EIO, "the power is off")

        return before

    def power_on(self) -> None:
        for disk in self._disks.values():
            disk.before = None


async def moved_with_a_crash(is_due: Callable[[str, str], bool]) -> bool:
    """Whether the crash came. All that was acknowledged and on the device is there after it."""
    disks = await two_disks()
    with suppress(OSError):
        async with running_node(disks=dict(disks)) as node, wire(node) as client:
            await create_topic(client, "t", flush_messages="1")
            await fill(client, 0, 6)
            target = "b" if held(node).log_dir == "a" else "a"
            crash = Crash(disks, is_due)
            await move(client, target)
            await wait_until(lambda: crash.is_over or held(node).log_dir == target)
            if not crash.is_over:
                await wait_until(lambda: node.role.moves.find(held(node)) is None or crash.is_over)
    happened = crash.is_over
    crash.power_on()
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        assert await values(client) == 6
        await fill(client, 6, 8)
        log_dirs = [path for path, each in node.partitions.directories.items() if each.logs]
        assert log_dirs == [held(node).log_dir]
        for directory in node.partitions.directories.values():
            await directory.sweep()
        assert not [each for each in await directories_of(disks) if each.endswith("-future")]
    async with running_node(disks=dict(disks)) as node, wire(node) as client:
        assert await values(client) == 8
    named = [each for each in await directories_of(disks) if each.endswith("/t-0")]
    assert len(named) == 1
    return happened


@pytest.mark.parametrize("number", [0, 1])
async def test_a_crash_at_a_rename_leaves_one_log(number: int) -> None:
    """The first gives the copy its name, the second takes the log's away."""
    seen: list[str] = []

    def is_due(operation: str, path: str) -> bool:
        if operation == "rename" and "t-0" in path:
            seen.append(path)
        return len(seen) > number

    assert await moved_with_a_crash(is_due)


@pytest.mark.slow
async def test_a_crash_at_any_operation_leaves_one_log() -> None:
    for number in range(200):
        left = number

        def is_due(operation: str, path: str) -> bool:
            nonlocal left
            left -= 1
            return left < 0

        if not await moved_with_a_crash(is_due):
            assert number > 15
            return
    raise AssertionError("the move never came to its end")
