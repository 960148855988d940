"""The run's operations in virtual time: the same answers as of real clients, good and bad."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from harness.client.base import Batching, ClientSettings, Completion, Invocation
from harness.cluster import Cluster
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure
from harness.native.reader import LATEST, Reader
from harness.sim.processes import SimProcess
from harness.sim.sim_client import SimClient
from tests.unit.harness.sim.places import Placed, create_topic, on_simulated_nodes

SETTINGS = {"delivery_timeout_ms": 5_000, "request_timeout_ms": 1_000}
Do = Callable[..., Awaitable[Completion]]


class AtWork:
    """A client that has been opened in a process of its own."""

    def __init__(self, placed: Placed, client_id: str = "c1-0", **settings: Any) -> None:
        self._process = SimProcess(placed.simulation, "c1")
        chosen = ClientSettings(bootstrap=placed.cluster.bootstrap(), **{**SETTINGS, **settings})
        self.client = SimClient(placed.simulation, "c1", chosen, client_id)

    async def __aenter__(self) -> Do:
        await self._process.start(self.client.open())
        return self.do

    async def __aexit__(self, *_: object) -> None:
        await self._process.start(self.client.close())

    async def do(self, f: str, value: Any = None) -> Completion:
        return await self._process.start(self.client.invoke(Invocation(f, value)))


async def make_topic(placed: Placed, *replicas: int) -> None:
    await create_topic(placed, "t", assignment={0: list(replicas), 1: list(replicas)})


async def polled(do: Do, count: int) -> list[list[Any]]:
    found: list[list[Any]] = []
    while len(found) < count:
        told = await do("poll", [["poll"]])
        assert told.type == "ok", told
        found += told.value[0][1].get("t-0", [])
    return found


@on_simulated_nodes(3)
async def test_what_is_sent_is_polled_and_a_position_is_kept(placed: Placed) -> None:
    await make_topic(placed, 1, 2, 3)
    async with AtWork(placed) as do:
        told = await do("send", [["send", "t-0", 7]])
        assert (told.type, told.value, told.node) == ("ok", [["send", "t-0", [0, 7]]], "n1")
        assert await do("assign", ["t-0", "t-1"]) == Completion("ok", ["t-0", "t-1"])
        assert await polled(do, 1) == [[0, 7]]
        await do("send", [["send", "t-0", 8]])
        await do("assign", ["t-0"])
        assert await polled(do, 1) == [[1, 8]]
        await do("assign", ["t-1"])
        await do("assign", ["t-0"])
        assert await polled(do, 2) == [[0, 7], [1, 8]], "a key that was given up begins anew"
        await do("assign", {"t-0": 1})
        assert await polled(do, 1) == [[1, 8]]


@on_simulated_nodes(3)
async def test_a_burst_is_several_batches_in_flight(placed: Placed) -> None:
    """Batches of 100 bytes and several partitions; the order of each partition is kept."""
    await make_topic(placed, 1, 2, 3)
    batching = Batching(linger_ms=5, batch_bytes=100, codec="zstd")
    async with AtWork(placed, batching=batching) as do:
        told = await do("send", [["send", f"t-{at % 2}", at] for at in range(20)])
        assert (told.type, told.node) == ("ok", "n1")
        assert told.value == [["send", f"t-{at % 2}", [at // 2, at]] for at in range(20)]
        await do("assign", ["t-0"])
        assert await polled(do, 10) == [[at, 2 * at] for at in range(10)]


@on_simulated_nodes(3)
async def test_a_record_comes_back_with_the_timestamp_it_was_sent_with(placed: Placed) -> None:
    await make_topic(placed, 1, 2, 3)
    batching = Batching(batch_bytes=100, codec="lz4")
    async with AtWork(placed, batching=batching) as do:
        told = await do("send", [["send", "t-0", at] for at in range(20)])
        await do("assign", ["t-0"])
        found: list[int] = []
        while len(found) < 20:
            found += ((await do("poll", [["poll"]])).timestamps or [{}])[0].get("t-0", [])
        assert found == told.timestamps
        assert len(set(found)) > 1


@on_simulated_nodes(3)
async def test_a_client_chooses_partitions_by_keys_and_learns_of_new_ones(placed: Placed) -> None:
    await make_topic(placed, 1, 2, 3)
    async with AtWork(placed, batching=Batching(partitioner="custom")) as do:
        assert await do("partitioner") == Completion("ok", "custom")
        told = await do("send", [["send", f"t/k{at}", at] for at in range(4)])
        assert told.value == [["send", f"t-{at % 2}", [at // 2, at]] for at in range(4)]
        assert (await do("assign", ["t"])).value == ["t-0", "t-1"]
        more = {"topic": "t", "partitions": 3}
        assert await do("create-partitions", more) == Completion("ok", more)
        assert (await do("create-partitions", more)).type == "fail"
        await asyncio.sleep(2)  # metadata is asked for anew
        told = await do("send", [["send", f"t/k{at}", 10 + at] for at in range(4)])
        assert [key for _, key, _ in told.value] == ["t-0", "t-1", "t-2", "t-0"]
        assert (await do("assign", ["t"])).value == ["t-0", "t-1", "t-2"]
        assert await polled(do, 4) == [[0, 0], [1, 2], [2, 10], [3, 13]]


@on_simulated_nodes(3)
async def test_what_has_no_partition_was_certainly_not_sent(placed: Placed) -> None:
    await make_topic(placed, 1, 2, 3)
    async with AtWork(placed) as do:
        told = await do("send", [["send", "nowhere/k1", 1], ["send", "nowhere/k2", 2]])
        assert (told.type, told.value) == (
            "fail",
            [["send", "nowhere/k1", 1], ["send", "nowhere/k2", 2]],
        )


@on_simulated_nodes(3)
async def test_lists_registers_and_ends(placed: Placed) -> None:
    await make_topic(placed, 1, 2, 3)
    async with AtWork(placed) as do:
        assert (await do("txn", [["r", "t-0", None]])).value == [["r", "t-0", []]]
        assert (await do("txn", [["append", "t-0", 1]])).value == [["append", "t-0", 1]]
        assert (await do("txn", [["r", "t-0", None]])).value == [["r", "t-0", [1]]]
        assert (await do("put", [["put", "t-1/a", 2]])).value == [["put", "t-1/a", [0, 2]]]
        assert (await do("put", [["put", "t-1/a", 3]])).type == "ok"
        assert (await do("get", [["get", "t-1/a", None]])).value == [["get", "t-1/a", [2, 3]]]
        assert (await do("get", [["get", "t-1/b", None]])).value == [["get", "t-1/b", [2, None]]]
        assert (await do("put", [["put", "t-1/a", None]])).type == "ok"
        assert (await do("get", [["get", "t-1/a", None]])).value == [["get", "t-1/a", [3, None]]]
        assert (await do("end-offsets", ["t-0", "t-1"])).value == {
            "low": {"t-0": 0, "t-1": 0},
            "stable": {"t-0": 1, "t-1": 3},
            "high": {"t-0": 1, "t-1": 3},
        }


@on_simulated_nodes(3)
async def test_topics_come_and_go(placed: Placed) -> None:
    new = {"topic": "n", "partitions": 2, "replication": 3, "configs": {"retention.ms": "9000"}}
    async with AtWork(placed) as do:
        assert (await do("describe", {"topic": "n"})).value == {"topic": "n", "partitions": None}
        assert await do("create", new) == Completion("ok", new)
        changed = {"topic": "n", "configs": {"retention.ms": None, "max.message.bytes": "5000"}}
        assert await do("alter", changed) == Completion("ok", changed)
        await until_described(
            do, {"topic": "n", "partitions": 2, "configs": {"max.message.bytes": "5000"}}
        )
        assert (await do("create", {**new, "topic": "no such name"})).type == "fail"
        assert (await do("create", new)).type == "info", "somebody's earlier try may be meant"
        assert (await do("delete", {"topic": "n"})).type == "ok"
        await until_described(do, {"topic": "n", "partitions": None})


async def until_described(do: Do, wanted: dict[str, Any]) -> None:
    """Any node may answer, and each of them learns of it in its own time."""

    async def is_so() -> bool:
        return bool((await do("describe", {"topic": wanted["topic"]})).value == wanted)

    await wait_until(is_so, within_s=30, what=f"{wanted} is what a node tells")


@on_simulated_nodes(3)
async def test_a_send_refused_each_time_failed(placed: Placed) -> None:
    """Below min.insync.replicas the leader refuses before it appends, and this client counts."""
    await make_topic(placed, 1, 2, 3)
    async with AtWork(placed) as do:
        assert (await do("alter", {"topic": "t", "configs": {"min.insync.replicas": "3"}})).type
        assert (await do("send", [["send", "t-0", 1]])).type == "ok"
        await placed.process.kill("n3")
        await until_isr(placed.cluster, 2)
        told = await do("send", [["send", "t-0", 2]])
        assert told.type == "fail", told
        assert told.value == [["send", "t-0", 2]]
        assert told.error is not None
        assert told.error.startswith("NOT_ENOUGH_REPLICAS")
        await placed.process.start("n3")
        assert (await do("txn", [["r", "t-0", None]])).value == [["r", "t-0", [1]]]


async def until_isr(cluster: Cluster, count: int) -> None:
    async def is_so() -> bool:
        return all(len(each.isr) == count for each in await cluster.partitions("t"))

    await wait_until(is_so, within_s=30, what=f"{count} replicas are in sync")


@on_simulated_nodes(3)
async def test_a_send_whose_leader_died_is_not_known(placed: Placed) -> None:
    """The only replica: nobody takes over, and the send on its way may be in its log."""
    await make_topic(placed, 2)
    async with AtWork(placed) as do:
        assert (await do("send", [["send", "t-0", 1]])).type == "ok"
        await placed.network.cut([("n2", "c1")])
        told = await do("send", [["send", "t-0", 2]])
        assert told.type == "info", told
        await placed.process.kill("n2")
        assert (await do("poll", [["poll"]])).value == [["poll", {}]]
        told = await do("txn", [["r", "t-0", None]])
        assert (told.type, told.value) == ("fail", [["r", "t-0", None]])


@on_simulated_nodes(3)
async def test_a_read_from_a_leader_that_is_gone_changes_nothing(placed: Placed) -> None:
    await make_topic(placed, 1, 2, 3)
    async with AtWork(placed) as do:
        await do("assign", ["t-0"])
        assert (await do("send", [["send", "t-0", 1]])).type == "ok"
        await placed.process.kill("n1")
        assert await polled(do, 1) == [[0, 1]]
        told = await do("send", [["send", "t-0", 2]])
        assert told.type == "ok"
        assert told.node in ("n2", "n3")


@on_simulated_nodes(1)
async def test_a_read_whose_end_is_never_reached_gives_up(placed: Placed) -> None:
    """As of a log that lost its tail after a leader had told where it ends."""
    await make_topic(placed, 1)
    list_offset = Reader.list_offset

    async def beyond(reader: Reader, topic: str, partition: int, at: int, **more: Any) -> Any:
        found = await list_offset(reader, topic, partition, at, **more)
        return found._replace(offset=found.offset + 5) if at == LATEST else found

    async with AtWork(placed) as do:
        assert (await do("send", [["send", "t-0", 1]])).type == "ok"
        begun_s = placed.simulation.now_s
        with pytest.MonkeyPatch.context() as sabotage:
            sabotage.setattr(Reader, "list_offset", beyond)
            told = await do("txn", [["r", "t-0", None]])
        assert (told.type, told.value) == ("fail", [["r", "t-0", None]])
        assert told.error == "_TIMED_OUT: read 1 records, not all of them"
        assert placed.simulation.now_s - begun_s < 6, "as long as a send may take"
        assert (await do("txn", [["r", "t-0", None]])).value == [["r", "t-0", [1]]]


@on_simulated_nodes(1)
async def test_settings_that_contradict_each_other_are_told(placed: Placed) -> None:
    with pytest.raises(EnvironmentFailure, match="needs acks=all"):
        await AtWork(placed, acks="1").__aenter__()
