"""The clients of a run against real brokers: what they do, and what they say when it goes wrong."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.client.base import (
    Client,
    ClientSettings,
    Completion,
    Invocation,
)
from harness.client.make import make_client
from harness.client.traffic import Metered, Traffic
from harness.cluster import Cluster
from harness.cluster.parts import the
from harness.cluster.waiting import wait_until
from harness.decisions import Decisions
from harness.errors import EnvironmentFailure
from tests.cluster.clusters import others, running, until_isr_is
from tests.cluster.confluent import create_topic, produce, read_all
from workloads.bursts import batching_of

pytestmark = pytest.mark.clients

EACH = pytest.mark.parametrize("library", ["confluent", "aiokafka"])
NOBODY = "127.0.0.1:1"
SAFE = {"min.insync.replicas": "2"}


@asynccontextmanager
async def opened(library: str, bootstrap: str, **settings: Any) -> AsyncIterator[Client]:
    chosen: dict[str, Any] = {"delivery_timeout_ms": 3000, "request_timeout_ms": 1000, **settings}
    client = make_client(library, ClientSettings(bootstrap=bootstrap, **chosen), "c1-0")
    await client.open()
    try:
        yield client
    finally:
        await client.close()


async def do(client: Client, f: str, value: Any = None) -> Completion:
    return await client.invoke(Invocation(f, value))


async def well(client: Client, f: str, value: Any = None) -> Any:
    """Of an operation that may meet a leader that is not known yet, but must succeed soon."""
    completion = Completion("fail")

    async def is_ok() -> bool:
        nonlocal completion
        completion = await do(client, f, value)
        assert completion.type != "info", completion
        return completion.type == "ok"

    await wait_until(is_ok, within_s=30, what=f"{f} {value} succeeds")
    return completion.value


async def polled(client: Client, key: str, count: int) -> list[list[Any]]:
    found: list[list[Any]] = []

    async def are_there() -> bool:
        completion = await do(client, "poll", [["poll"]])
        assert completion.type == "ok", completion
        found.extend(completion.value[0][1].get(key, ()))
        return len(found) >= count

    await wait_until(are_there, within_s=30, what=f"{count} records of {key} are polled")
    return found


@EACH
async def test_what_clients_do(library: str, tmp_path: Path) -> None:
    async with running(tmp_path, 3) as (cluster, _):
        await create_topic(cluster, "t", partitions=3, replicas=3, config=SAFE)
        await until_isr_is(cluster, "t", cluster.nodes)
        async with opened(library, cluster.bootstrap()) as client:
            await the_queue(client)
            await the_reading_of_whole_partitions(client)
            await what_does_not_fit(client, cluster)
            await the_topics(client)
            await the_time_of_appending(client)
        for number in range(4):
            batching = batching_of(Decisions(number), number, None)
            async with opened(library, cluster.bootstrap(), batching=batching) as client:
                await a_burst(client, 1000 * (number + 1))


async def the_queue(client: Client) -> None:
    assert await do(client, "assign", ["t-0", "t-1"]) == Completion("ok", ["t-0", "t-1"])
    for value in (10, 11, 12):
        told = await do(client, "send", [["send", "t-0", value]])
        assert (told.type, told.value) == ("ok", [["send", "t-0", [value - 10, value]]])
    assert await polled(client, "t-0", 3) == [[0, 10], [1, 11], [2, 12]]
    await do(client, "send", [["send", "t-0", 13]])
    await do(client, "assign", ["t-0"])
    assert await polled(client, "t-0", 1) == [[3, 13]], "the position was kept"
    await do(client, "assign", ["t-1"])
    await do(client, "assign", ["t-0"])
    assert (await polled(client, "t-0", 4))[0] == [0, 10], "it was given up in between"
    await do(client, "assign", {"t-0": 2})
    assert await polled(client, "t-0", 2) == [[2, 12], [3, 13]]


async def a_burst(client: Client, first: int) -> None:
    """Of two partitions in turn; each keeps the order in which its records were sent."""
    asked = [["send", f"t-{at % 2}", first + at] for at in range(200)]
    told = await do(client, "send", asked)
    assert told.type == "ok", told
    for partition in range(2):
        placed = [pair for _, key, pair in told.value if key == f"t-{partition}"]
        assert [value for _, value in placed] == list(range(first + partition, first + 200, 2))
        begin = placed[0][0]
        assert [offset for offset, _ in placed] == list(range(begin, begin + 100))
    await the_traffic_of(client, 200)
    sent = [stamp for (_, key, _), stamp in zip(told.value, told.timestamps or (), strict=True)
            if key == "t-0"]  # fmt: skip
    first_offset = told.value[0][2][0]
    assert await stamped(client, "t-0", first_offset, 100) == sent, "CreateTime keeps them"
    assert len(set(sent)) > 1


async def the_traffic_of(client: Client, records: int) -> None:
    """All of them were on the wire once, in batches whose sizes add up where all is exact."""
    assert isinstance(client, Metered)
    counted = Traffic()

    async def are_counted() -> bool:
        counted.add(client.traffic())
        return counted.records >= records

    await wait_until(are_counted, within_s=30, what="librdkafka tells of every batch")
    assert counted.records == records
    assert counted.requests_max >= 1
    assert max(counted.batches) <= counted.records_max <= records
    assert counted.bytes_max <= counted.bytes_total
    if not counted.is_sampled:
        assert sum(size * count for size, count in counted.batches.items()) == records


async def stamped(client: Client, key: str, first: int, count: int) -> list[int]:
    """Timestamps of these records, as polls return them."""
    assert (await do(client, "assign", {key: first})).type == "ok"
    found: list[int] = []

    async def are_there() -> bool:
        completion = await do(client, "poll", [["poll"]])
        assert completion.type == "ok", completion
        found.extend((completion.timestamps or [{}])[0].get(key, ()))
        return len(found) >= count

    await wait_until(are_there, within_s=30, what=f"{count} records of {key} are polled")
    return found


async def the_time_of_appending(client: Client) -> None:
    """LogAppendTime: the leader's clock, one time for each batch, whatever the producer sent."""
    configs = {"message.timestamp.type": "LogAppendTime"}
    topic = {"topic": "stamped", "partitions": 1, "replication": 3, "configs": configs}
    await well(client, "create", topic)
    begun_ms = time.time_ns() // 1_000_000
    sends = []
    for first in (0, 50):
        sends.append([["send", "stamped-0", first + at] for at in range(50)])
        await well(client, "send", sends[-1])
    found = await stamped(client, "stamped-0", 0, 100)
    assert found == sorted(found)
    assert begun_ms <= found[0] <= found[-1] <= time.time_ns() // 1_000_000
    # Producers send times out of order, so none of these are theirs.
    assert len(set(found)) < 100


async def the_reading_of_whole_partitions(client: Client) -> None:
    assert await well(client, "txn", [["r", "t-1", None]]) == [["r", "t-1", []]]
    for value in (1, 2, 3):
        await well(client, "txn", [["append", "t-1", value]])
    assert await well(client, "txn", [["r", "t-1", None]]) == [["r", "t-1", [1, 2, 3]]]
    assert await well(client, "get", [["get", "t-2/a", None]]) == [["get", "t-2/a", [0, None]]]
    assert await well(client, "put", [["put", "t-2/a", 5]]) == [["put", "t-2/a", [0, 5]]]
    assert await well(client, "put", [["put", "t-2/b", 6]]) == [["put", "t-2/b", [1, 6]]]
    assert await well(client, "get", [["get", "t-2/a", None]]) == [["get", "t-2/a", [2, 5]]]
    assert await well(client, "put", [["put", "t-2/a", None]]) == [["put", "t-2/a", [2, None]]]
    assert await well(client, "get", [["get", "t-2/a", None]]) == [["get", "t-2/a", [3, None]]]
    ends = {"t-0": 4, "t-1": 3, "t-2": 3}
    assert await well(client, "end-offsets", list(ends)) == {
        "low": dict.fromkeys(ends, 0),
        "stable": ends,
        "high": ends,
    }


async def what_does_not_fit(client: Client, cluster: Cluster) -> None:
    await produce(cluster, "t", [b"from elsewhere"], partition=1)
    told = await well(client, "txn", [["r", "t-1", None]])
    assert told == [["r", "t-1", [1, 2, 3, "foreign: from elsewhere"]]]


async def the_topics(client: Client) -> None:
    new = {"topic": "n", "partitions": 2, "replication": 3, "configs": {"retention.ms": "9000"}}
    assert await well(client, "describe", {"topic": "n"}) == {"topic": "n", "partitions": None}
    assert await well(client, "create", new) == new
    await described(client, {"partitions": 2, "configs": {"retention.ms": "9000"}})
    change = {"topic": "n", "configs": {"max.message.bytes": "5000"}}
    assert await well(client, "alter", change) == change
    both = {"max.message.bytes": "5000", "retention.ms": "9000"}
    await described(client, {"partitions": 2, "configs": both})
    # Both are named, because aiokafka reads what is not, from a node that may be behind.
    last = {"retention.ms": None, "max.message.bytes": "5000"}
    await well(client, "alter", {"topic": "n", "configs": last})
    await described(client, {"partitions": 2, "configs": {"max.message.bytes": "5000"}})
    assert (await do(client, "create", {**new, "topic": "no such name"})).type == "fail"
    assert (await do(client, "create", new)).type == "info"
    assert await well(client, "delete", {"topic": "n"}) == {"topic": "n"}
    await described(client, {"partitions": None})


async def described(client: Client, wanted: dict[str, Any]) -> None:
    async def is_so() -> bool:
        told = await do(client, "describe", {"topic": "n"})
        return bool(told.value == {"topic": "n", **wanted})

    await wait_until(is_so, within_s=30, what=f"a node tells {wanted}")


@EACH
async def test_below_the_minimum_of_replicas_nothing_is_certain(
    library: str, tmp_path: Path
) -> None:
    """It is refused again and again, but of each try the library does not say how it ended."""
    async with running(tmp_path, 3) as (cluster, process):
        config = {"min.insync.replicas": "3"}
        await create_topic(cluster, "t", partitions=1, replicas=3, config=config)
        await until_isr_is(cluster, "t", cluster.nodes)
        async with opened(library, cluster.bootstrap()) as client:
            assert (await do(client, "send", [["send", "t-0", 1]])).type == "ok"
            leader = await cluster.leader("t", 0)
            victim = next(node for node in cluster.nodes if node != leader)
            await process.kill(victim)
            await until_isr_is(cluster, "t", others(cluster, victim))
            told = await do(client, "send", [["send", "t-0", 2]])
            assert (told.type, told.value) == ("info", [["send", "t-0", 2]])
            assert told.error
        # Closed, it sends nothing more, though there are enough replicas again.
        await process.start(victim)
        await until_isr_is(cluster, "t", cluster.nodes)
        async with opened(library, cluster.bootstrap()) as heir:
            assert await well(heir, "send", [["send", "t-0", 3]]) == [["send", "t-0", [1, 3]]]
            assert await well(heir, "txn", [["r", "t-0", None]]) == [["r", "t-0", [1, 3]]]


@EACH
async def test_a_send_to_a_leader_that_is_gone_is_not_known(library: str, tmp_path: Path) -> None:
    async with running(tmp_path, 3) as (cluster, process):
        await create_topic(cluster, "t", partitions=1, assignment=[[2]])
        async with opened(library, cluster.bootstrap("n1", "n3")) as client:
            assert await well(client, "send", [["send", "t-0", 1]]) == [["send", "t-0", [0, 1]]]
            await do(client, "assign", ["t-0"])
            assert await polled(client, "t-0", 1) == [[0, 1]]
            await process.kill("n2")
            told = await do(client, "send", [["send", "t-0", 2]])
            assert (told.type, told.value) == ("info", [["send", "t-0", 2]])
            assert (await do(client, "poll", [["poll"]])).value == [["poll", {}]]
            told = await do(client, "txn", [["r", "t-0", None]])
            assert (told.type, told.value) == ("fail", [["r", "t-0", None]])
            told = await do(client, "end-offsets", ["t-0"])
            assert (told.type, told.value) == ("fail", ["t-0"])
        await process.start("n2")
        await until_isr_is(cluster, "t", ["n2"])
        async with opened(library, cluster.bootstrap()) as heir:
            assert await well(heir, "txn", [["r", "t-0", None]]) == [["r", "t-0", [1]]]


@EACH
async def test_clients_of_a_dead_cluster_say_so_and_nothing_else(
    library: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a library has to complain of goes to its logger, not to the streams of the worker."""
    async with opened(library, NOBODY, delivery_timeout_ms=1000) as client:
        await do(client, "assign", ["t-0"])
        assert (await do(client, "send", [["send", "t-0", 1]])).type in ("info", "fail")
        assert (await do(client, "poll", [["poll"]])).type in ("ok", "fail")
        assert (await do(client, "txn", [["r", "t-0", None]])).type == "fail"
        assert (await do(client, "describe", {"topic": "t"})).type == "fail"
        assert (await do(client, "delete", {"topic": "t"})).type in ("info", "fail")
    assert capfd.readouterr() == ("", "")


@EACH
async def test_acks_0_is_told_without_an_offset(library: str, tmp_path: Path) -> None:
    async with running(tmp_path, 1) as (cluster, _):
        await create_topic(cluster, "t", partitions=1, replicas=1)
        loose = {"acks": "0", "enable_idempotence": False}
        async with opened(library, cluster.bootstrap(), **loose) as client:
            assert await well(client, "send", [["send", "t-0", 1]]) == [["send", "t-0", [None, 1]]]
            await until_read(cluster, "t", 1)


async def test_aiokafka_never_goes_back_by_itself(tmp_path: Path) -> None:
    """Beyond the end it waits, because only a deposed leader can end there; before the beginning
    it goes to it."""
    async with running(tmp_path, 1) as (cluster, _):
        await create_topic(cluster, "t", partitions=1, replicas=1)
        async with opened("aiokafka", cluster.bootstrap()) as client:
            for value in range(3):
                await well(client, "send", [["send", "t-0", value]])
            await do(client, "assign", {"t-0": 4})
            told = await do(client, "poll", [["poll"]])
            assert (told.type, told.value) == ("fail", [["poll", {}]])
            assert told.error is not None
            assert told.error.startswith("OFFSET_OUT_OF_RANGE: ")
            for value in range(3, 6):
                await well(client, "send", [["send", "t-0", value]])
            found = await well_polled(client, "t-0")
            assert found[0] == [4, 4]
            await the(cluster.system.retention).delete_records("t", {0: 2})
            await do(client, "assign", {"t-0": 0})
            assert await polled(client, "t-0", 4) == [[n, n] for n in range(2, 6)]


async def well_polled(client: Client, key: str) -> list[list[Any]]:
    """The first that comes, after polls that fail perhaps."""
    found: list[list[Any]] = []

    async def is_there() -> bool:
        found.extend((await do(client, "poll", [["poll"]])).value[0][1].get(key, ()))
        return bool(found)

    await wait_until(is_there, within_s=30, what=f"a record of {key} is polled")
    return found


async def until_read(cluster: Cluster, topic: str, count: int) -> None:
    async def is_so() -> bool:
        return len(await read_all(cluster, topic)) == count

    await wait_until(is_so, within_s=30, what=f"{topic} has {count} records")


async def test_one_refusal_of_one_try_is_certain(tmp_path: Path) -> None:
    async with running(tmp_path, 1) as (cluster, _):
        config = {"max.message.bytes": "10"}
        await create_topic(cluster, "t", partitions=1, replicas=1, config=config)
        once = {"acks": "1", "enable_idempotence": False, "retries": 0}
        async with opened("confluent", cluster.bootstrap(), **once) as client:
            told = await do(client, "send", [["send", "t-0", 1]])
            assert told.type == "fail"
            assert told.error is not None
            assert told.error.startswith("MESSAGE_TOO_LARGE: ")
        async with opened("confluent", cluster.bootstrap(), acks="all") as client:
            assert (await do(client, "send", [["send", "t-0", 1]])).type == "info"


@pytest.mark.parametrize(
    ("library", "settings", "said"),
    [
        ("confluent", {"acks": "1"}, "acks"),
        ("confluent", {"retries": 0}, "retries"),
        ("confluent", {"producer_config": {"no.such": "setting"}}, "no.such"),
        ("confluent", {"consumer_config": {"fetch.wait.max.ms": "soon"}}, "fetch.wait.max.ms"),
        ("aiokafka", {"acks": "1"}, "acks=1"),
        ("aiokafka", {"retries": 3}, "retries"),
        ("aiokafka", {"producer_config": {"no.such": "setting"}}, "no_such"),
        ("aiokafka", {"consumer_config": {"no.such": "setting"}}, "no_such"),
    ],
)
async def test_settings_that_cannot_be_are_told_before_the_run(
    library: str, settings: dict[str, Any], said: str
) -> None:
    client = make_client(library, ClientSettings(bootstrap=NOBODY, **settings), "c1-0")
    with pytest.raises(EnvironmentFailure, match=said):
        await client.open()
    await client.close()


def test_a_library_nobody_knows_is_told() -> None:
    known: Sequence[str] = ("confluent", "aiokafka", "native", "instant")
    with pytest.raises(ValueError, match=f"'carrier pigeon'; choose one of {', '.join(known)}"):
        make_client("carrier pigeon", ClientSettings(bootstrap=NOBODY), "c1-0")
