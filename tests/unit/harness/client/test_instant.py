"""The client that measures the harness: nothing is lost, and nothing is kept for ever."""

from __future__ import annotations

from harness.client.base import Invocation
from harness.client.instant import InstantClient, Memory
from harness.client.payload import value_of


async def test_what_was_sent_is_polled_once_by_whoever_comes_next() -> None:
    memory = Memory()
    client = InstantClient(memory)
    sent = await client.invoke(Invocation("send", [["send", "a-0", value_of(3, 0)]]))
    heir = InstantClient(memory)
    await heir.invoke(Invocation("assign", ["a-0"]))
    polled = await heir.invoke(Invocation("poll", [["poll"]]))
    assert polled.value == [["poll", {"a-0": [sent.value[0][2]]}]]
    assert (await heir.invoke(Invocation("poll", [["poll"]]))).value == [["poll", {}]]
    assert memory.logs["a-0"].unread == []


async def test_offsets_of_two_workers_never_meet() -> None:
    offsets = set()
    for producer in range(3):
        client = InstantClient(Memory())
        for sequence in range(100):
            sent = await client.invoke(
                Invocation("send", [["send", "a-0", value_of(producer, sequence)]])
            )
            offsets.add(sent.value[0][2][0])
    assert len(offsets) == 300


async def test_it_can_do_what_every_client_can() -> None:
    client = InstantClient(Memory())
    for f, value in (
        ("txn", [["append", "a-0", 1]]),
        ("txn", [["r", "a-0", None]]),
        ("put", [["put", "a-0/x", 1]]),
        ("get", [["get", "a-0/x", None]]),
        ("end-offsets", None),
        ("create", {"topic": "t", "partitions": 1, "replication": 1, "configs": {}}),
        ("alter", {"topic": "t", "configs": {"a": "1"}}),
        ("describe", {"topic": "t"}),
        ("delete", {"topic": "t"}),
    ):
        assert (await client.invoke(Invocation(f, value))).type == "ok"
    assert (await client.invoke(Invocation("crash"))).type == "info"


async def test_it_chooses_partitions_by_keys() -> None:
    client = InstantClient(Memory())
    assert (await client.invoke(Invocation("assign", ["t"]))).value == [f"t-{n}" for n in range(4)]
    await client.invoke(Invocation("create-partitions", {"topic": "t", "partitions": 5}))
    assigned = await client.invoke(Invocation("assign", ["t"]))
    assert assigned.value == [f"t-{n}" for n in range(5)]
    sends = [["send", f"t/k{n}", value_of(0, n)] for n in range(50)]
    sent = await client.invoke(Invocation("send", sends))
    assert {key for _, key, _ in sent.value} == set(assigned.value)
