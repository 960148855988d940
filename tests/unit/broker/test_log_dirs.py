"""Several log directories: a bad one costs what lies in it, and nothing else."""

import asyncio
import errno

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.checkpoints import HIGH_WATERMARK
from broker.log.identity import Identity, WrongDirectoryError, write_identity
from broker.log.log import Log
from broker.log.log_directory import CLEAN_SHUTDOWN
from broker.metadata.changes import ConfigChanged, ResourceType
from broker.observe.exporter import exposition
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.nodes import CLUSTER_ID, create_topic, formatted, produce, running_node, wait_until, wire
from tests.unit.broker.log.builders import batch


async def two_disks() -> tuple[MemoryDisk, MemoryDisk]:
    one, other = MemoryDisk(), MemoryDisk()
    await formatted(one)
    await formatted(other, directory=2)
    return one, other


async def test_a_bad_disk_does_not_keep_the_others_from_being_looked_after() -> None:
    bad, good = await two_disks()
    often = {"log.flush.offset.checkpoint.interval.ms": "10"}
    async with running_node(often, disks={"a": bad, "b": good}) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        bad.fail("replace", "recovery-point*")
        await produce(client, batch(b"x"), index=1)
        async with asyncio.timeout(10):
            while b"t 1 1" not in await good.read(HIGH_WATERMARK):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_a_bad_disk_does_not_keep_the_others_from_a_clean_stop() -> None:
    bad, good = await two_disks()
    async with running_node(disks={"a": bad, "b": good}) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        bad.fail("replace", "recovery-point*")
    assert CLEAN_SHUTDOWN not in await bad.list("")
    assert CLEAN_SHUTDOWN in await good.list("")


async def test_directories_of_two_clusters_are_refused_and_not_touched() -> None:
    one, other = await formatted(MemoryDisk()), MemoryDisk()
    identity = Identity(
        cluster_id="BBBBBBBBBBBBBBBBBBBBBB", node_id=1, directory_id="AAAAAAAAAAAAAAAAAAAAAg"
    )
    await write_identity(other, identity)
    await one.replace(CLEAN_SHUTDOWN, b"")
    with pytest.raises(WrongDirectoryError, match=r"different clusters: a to A.* b to B"):
        async with running_node(disks={"a": one, "b": other}):
            pass
    assert CLEAN_SHUTDOWN in await one.list("")


async def test_a_copy_of_a_directory_is_refused_beside_it() -> None:
    one, copy = await formatted(MemoryDisk()), await formatted(MemoryDisk())
    with pytest.raises(WrongDirectoryError, match=r"a and b have the same directory\.id"):
        async with running_node(disks={"a": one, "b": copy}):
            pass


@pytest.mark.parametrize(
    ("operation", "path"), [("read", "meta.properties"), ("list", ""), ("open", "t-1/*")]
)
async def test_a_start_goes_on_without_a_directory_that_cannot_be_read(
    operation: str, path: str
) -> None:
    good, bad = await two_disks()
    async with running_node(disks={"a": good, "b": bad}) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        for index in range(2):
            assert (await produce(client, batch(b"x"), index=index)).error_code == 0
        good.process_crash()
        bad.process_crash()
    bad.fail(operation, path)
    async with running_node(disks={"a": good, "b": bad}) as node, wire(node) as client:
        assert (await produce(client, batch(b"y"), index=0)).base_offset == 1
        refused = await produce(client, batch(b"y"), index=1)
        assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        answer = await client.ask(ApiKey.METADATA, 12, m.MetadataRequest(topics=None))
        assert [each.leader_id for each in answer.topics[0].partitions] == [1, -1]
        told = (await exposition(node)).decode().splitlines()
        assert "kafka_controller_kafkacontroller_offlinepartitionscount 1.0" in told
        assert "kafka_log_logmanager_offlinelogdirectorycount 1.0" in told
        await create_topic(client, "new", partitions=3)
        assert {each.log_dir for each in node.partitions} == {"a"}
        await wait_until(lambda: not node.partitions.is_behind)
        bad.heal()
    assert CLEAN_SHUTDOWN not in await bad.list("")
    async with running_node(disks={"a": good, "b": bad}) as node, wire(node) as client:
        assert (await produce(client, batch(b"y"), index=1)).base_offset == 1


async def test_no_node_starts_without_its_metadata() -> None:
    good, bad = await two_disks()
    good.fail("list", "")
    with pytest.raises(OSError, match="Input/output error"):
        async with running_node(disks={"a": good, "b": bad}):
            pass


async def test_partitions_may_go_while_somebody_walks_over_them() -> None:
    async with running_node() as node, wire(node) as client:
        for name in "abc":
            await create_topic(client, name)
        seen: list[str] = []
        for partition in node.partitions:
            if not seen:
                request = m.DeleteTopicsRequest(topic_names=["b"], timeout_ms=1000)
                await client.ask(ApiKey.DELETE_TOPICS, 5, request)
            seen.append(partition.topic)
        assert seen == ["a", "b", "c"]


async def test_the_controller_knows_what_lies_where_and_which_directory_failed() -> None:
    good, bad = await two_disks()
    quickly = {"broker.heartbeat.interval.ms": "20"}
    async with running_node(quickly, disks={"a": good, "b": bad}) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        image = node.metadata.image

        def directories() -> list[bytes | None]:
            return [each.directory_of(1) for each in image.topics["t"].partitions]

        def leaders() -> list[int]:
            return [each.leader for each in image.topics["t"].partitions]

        ids = [number.to_bytes(16, "big") for number in (1, 2)]
        await wait_until(lambda: directories() == ids)
        for index in range(2):
            assert (await produce(client, batch(b"x"), index=index)).error_code == 0
        for operation in ("append", "open", "list"):
            bad.fail(operation, "t-1*")
        refused = await produce(client, batch(b"y"), index=1)
        assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        await wait_until(lambda: leaders() == [1, -1])
        assert image.brokers[1].offline_dirs == (ids[1],)
        assert (await produce(client, batch(b"y"), index=0)).base_offset == 1
        bad.heal()
        await wait_until(lambda: leaders() == [1, 1])
        assert not image.brokers[1].offline_dirs
        partition = node.partitions.find("t", 1)
        assert partition is not None
        await wait_until(lambda: partition.leader is not None)
        assert (await produce(client, batch(b"y"), index=1)).base_offset == 1


async def test_a_directory_taken_off_the_list_leaves_no_empty_log_that_leads() -> None:
    kept, gone = await two_disks()
    async with running_node(disks={"a": kept, "b": gone}) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        for index in range(2):
            assert (await produce(client, batch(b"x"), index=index)).error_code == 0
        parts = node.metadata.image.topics["t"].partitions
        await wait_until(lambda: all(each.directory_of(1) for each in parts))
    async with running_node(disks={"a": kept}) as node, wire(node) as client:
        image = node.metadata.image
        first = (1).to_bytes(16, "big")
        await wait_until(lambda: image.topics["t"].partitions[1].directory_of(1) == first)
        assert [each.leader for each in image.topics["t"].partitions] == [1, -1]
        assert (await produce(client, batch(b"y"), index=0)).base_offset == 1
        assert (await produce(client, batch(b"y"), index=1)).error_code != 0


async def test_without_an_id_of_each_directory_none_is_told() -> None:
    """One that has none could not be told from the others when it is them that fail."""
    named, nameless = await formatted(MemoryDisk()), MemoryDisk()
    await write_identity(nameless, Identity(cluster_id=CLUSTER_ID, node_id=1, directory_id=""))
    async with running_node(disks={"a": named, "b": nameless}) as node:
        await wait_until(lambda: 1 in node.metadata.image.brokers)
        assert node.metadata.image.brokers[1].log_dirs == ()


async def test_the_controller_hears_where_a_log_lies_that_failed_before_its_first_role(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good, bad = await two_disks()
    real = Log.assign_leader_epoch

    async def fail_first(self: Log, epoch: int) -> None:
        if self.directory == "t-1" and self.failure is None:
            bad.fail("open", "t-1/*")
            self.fail(OSError(errno.EIO, "a test says so"))
        await real(self, epoch)

    monkeypatch.setattr(Log, "assign_leader_epoch", fail_first)
    quickly = {"broker.heartbeat.interval.ms": "20"}
    async with running_node(quickly, disks={"a": good, "b": bad}) as node, wire(node) as client:
        await create_topic(client, "t", partitions=2)
        image = node.metadata.image
        await wait_until(lambda: image.topics["t"].partitions[1].directory_of(1) is not None)
        await wait_until(lambda: [p.leader for p in image.topics["t"].partitions] == [1, -1])


async def test_a_cordoned_directory_gets_no_new_logs_while_another_can_have_them() -> None:
    one, other = await two_disks()
    cordoned = {"cordoned.log.dirs": "a"}
    async with running_node(cordoned, disks={"a": one, "b": other}) as node, wire(node) as client:
        await create_topic(client, "t", partitions=3)
        assert [each.log_dir for each in node.partitions] == ["b", "b", "b"]
        change = ConfigChanged(ResourceType.BROKER, "1", "cordoned.log.dirs", "*")
        await node.change(lambda: [change])
        await create_topic(client, "u", partitions=1)
        assert [each.log_dir for each in node.partitions if each.topic == "u"] == ["a"]
