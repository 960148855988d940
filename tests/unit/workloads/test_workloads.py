"""Workloads are pure: seed, client and ordinal decide, and nothing else does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity
from harness.client.base import Invocation
from harness.client.driver import place_of
from harness.client.instant import InstantClient, Memory
from tests.unit.checkers.stories import told
from workloads import WORKLOADS, make_workload
from workloads.base import Load, WithTransactions, Workload
from workloads.register import Register

ROOT = Path(__file__).parents[3]
EVERY = pytest.mark.parametrize("name", list(WORKLOADS))
COUNT = 600


def load(seed: int = 7, clients: int = 3, key_dist: str = "uniform") -> Load:
    return Load(seed=seed, clients=clients, topic_configs={}, key_dist=key_dist)


def drawn(workload: Workload, client: int, count: int = COUNT) -> list[Invocation]:
    return [workload.operation(client, ordinal) for ordinal in range(count)]


def written(operations: list[Invocation]) -> list[int]:
    return [
        micro[2]
        for operation in operations
        if operation.f in ("send", "txn", "put")
        for micro in operation.value
        if micro[0] in ("send", "append", "put") and micro[2] is not None
    ]


@EVERY
def test_taking_one_operation_away_moves_no_other(name: str) -> None:
    """Asked for in any order, by anybody, or alone, an operation is the same."""
    whole = drawn(make_workload(name, load()), 1)
    other = make_workload(name, load())
    assert [other.operation(1, ordinal) for ordinal in reversed(range(COUNT))] == whole[::-1]
    alone = make_workload(name, load())
    drawn(alone, 0, 50)
    assert alone.operation(1, 123) == whole[123]


@EVERY
def test_another_seed_or_client_does_other_things(name: str) -> None:
    workload = make_workload(name, load())
    assert drawn(workload, 0) != drawn(workload, 1)
    assert drawn(workload, 0) != drawn(make_workload(name, load(seed=8)), 0)


@EVERY
def test_no_value_is_written_twice(name: str) -> None:
    workload = make_workload(name, load())
    values = [value for client in range(3) for value in written(drawn(workload, client))]
    assert len(values) > 100
    assert len(set(values)) == len(values)
    for client in range(3):
        assert {value >> 32 for value in written(drawn(workload, client))} <= {client + 1}


@EVERY
async def test_each_partition_can_be_written_to_when_all_is_healed(name: str) -> None:
    """By an ordinary write, whose value is the ordinal's own, as if `operation` had drawn it."""
    workload = make_workload(name, load())
    client = InstantClient(Memory())
    for key in workload.drained_keys(1):
        write = workload.write(1, 77, key)
        assert keys_in(write) == {key}
        values = {written([workload.write(1, ordinal, key)])[0] for ordinal in range(70, 80)}
        assert len(values) == 10
        assert all(value >> 32 == 2 for value in values)
        others = [workload.operation(1, ordinal) for ordinal in range(COUNT) if ordinal != 77]
        assert written([write])[0] not in written(others)
        assert (await client.invoke(write)).type == "ok"


def test_a_register_in_use_is_not_replaced_when_all_is_healed() -> None:
    """What became of its last put must still be there to be seen."""
    register = Register(load())
    for key in register.drained_keys(0):
        assert register.write(0, 0, key).value[0][1] not in register.registers


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "keyed"])
def test_operations_stay_within_the_topics(name: str) -> None:
    workload = make_workload(name, load())
    partitions = {
        f"{topic.name}-{index}" for topic in workload.topics for index in range(topic.partitions)
    }
    assert 4 <= len(partitions) <= 8
    for client in range(3):
        for operation in [*workload.opening(client, client), *drawn(workload, client)]:
            assert keys_in(operation) <= partitions, operation
        assert set(workload.drained_keys(client)) <= partitions
    drained = [set(workload.drained_keys(client)) for client in range(3)]
    assert set().union(*drained) == partitions


def keys_in(operation: Invocation) -> set[str]:
    if operation.f == "assign":
        return set(operation.value)
    if operation.f == "committed":
        return set(operation.value["offsets"])
    if operation.f in ("send", "txn", "put", "get"):
        keyed = [each for each in operation.value if each[0] not in ("poll", "pause", "abort")]
        return {place_of(micro[1]).key for micro in keyed}
    return set()


@EVERY
def test_topics_survive_one_node(name: str) -> None:
    for topic in make_workload(name, load()).topics:
        assert topic.replication_factor == 3
        assert topic.configs["min.insync.replicas"] == "2"
    alone = Load(seed=1, clients=1, replication_factor=1, topic_configs={"retention.ms": "5"})
    for topic in make_workload(name, alone).topics:
        assert topic.replication_factor == 1
        assert topic.configs["min.insync.replicas"] == "1"
        assert topic.configs["retention.ms"] == "5"


@pytest.mark.parametrize(
    "name",
    [each for each in WORKLOADS if not isinstance(make_workload(each, load()), WithTransactions)],
)
async def test_a_client_can_do_all_of_it(name: str) -> None:
    workload = make_workload(name, load())
    client = InstantClient(Memory())
    for operation in [*workload.opening(0, 0), *drawn(workload, 0)]:
        assert (await client.invoke(operation)).type == "ok"


@EVERY
def test_it_says_what_it_is_and_who_judges_it(name: str) -> None:
    workload = make_workload(name, load())
    assert workload.name == name
    assert workload.checkers
    assert (type(workload).__doc__ or "").endswith((".", "\n    "))


def test_the_hashes_of_a_process_decide_nothing() -> None:
    script = (
        "import json, sys\n"
        "from workloads import WORKLOADS, make_workload\n"
        "from workloads.base import Load\n"
        "drawn = []\n"
        "for name in WORKLOADS:\n"
        "    load = Load(seed=7, clients=3, topic_configs={}, key_dist='zipf')\n"
        "    workload = make_workload(name, load)\n"
        "    for client in range(3):\n"
        "        drawn.append(workload.drained_keys(client))\n"
        "        drawn += [[each.f, each.value] for each in workload.opening(client, 4)]\n"
        "        for ordinal in range(200):\n"
        "            operation = workload.operation(client, ordinal)\n"
        "            drawn.append([operation.f, operation.value])\n"
        "json.dump(drawn, sys.stdout)\n"
    )

    def by(hash_seed: str) -> Any:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        told = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
        )
        return json.loads(told.stdout)

    assert by("1") == by("2")


def test_a_queue_sends_and_polls_alike_and_assigns_now_and_then() -> None:
    counts = count_by_f("queue")
    assert 0.45 < counts["send"] / 6000 < 0.55
    assert 0.45 < counts["poll"] / 6000 < 0.55
    assert 1 / 128 < counts["assign"] / 6000 < 1 / 32


def test_each_workload_does_what_it_is_about() -> None:
    assert set(count_by_f("append")) == {"txn", "end-offsets"}
    assert set(count_by_f("register")) == {"put", "get"}
    assert set(count_by_f("latest")) == {"send", "poll", "assign", "end-offsets"}
    assert set(count_by_f("admin")) >= {"create", "delete", "alter", "describe", "send", "poll"}
    assert set(count_by_f("group")) >= {"send", "subscribe", "poll", "committed", "leave"}
    assert set(count_by_f("keyed")) == {"send", "poll", "assign"}


def count_by_f(name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for operation in drawn(make_workload(name, load()), 2, 6000):
        counts[operation.f] = counts.get(operation.f, 0) + 1
    return counts


def test_a_reader_of_a_queue_comes_round_to_every_key() -> None:
    workload = make_workload("queue", load())
    seen: set[str] = set()
    for operation in drawn(workload, 0, 6000):
        if operation.f == "assign":
            assert len(operation.value) == 4
            seen |= set(operation.value)
    assert len(seen) == 8


def test_a_made_topic_has_one_life() -> None:
    workload = make_workload("admin", load())
    lives: dict[str, list[str]] = {}
    for operation in drawn(workload, 0, 64 * 3):
        if operation.f in ("create", "delete", "alter", "describe"):
            lives.setdefault(operation.value["topic"], []).append(operation.f)
    assert len(lives) == 3
    for life in lives.values():
        assert life[0] == "create"
        assert life[-2:] == ["delete", "describe"]
        assert set(life[1:-2]) == {"alter", "describe"}


def test_a_name_nobody_knows_is_told() -> None:
    with pytest.raises(ValueError, match="unknown workload 'bagel'; choose one of queue"):
        make_workload("bagel", load())


def test_an_administrator_asks_in_the_end_for_the_topics_it_had_last() -> None:
    workload = make_workload("admin", load())
    assert workload.closing(1, 0) == ()
    made = [each.value["topic"] for each in drawn(workload, 1) if each.f == "create"]
    asked = [each.value for each in workload.closing(1, len(drawn(workload, 1)))]
    assert [each["topic"] for each in asked] == made[-4:]
    assert all(each["settled"] for each in asked)
    first = [each.value["topic"] for each in workload.closing(1, 8)]
    assert first == made[:1], "the one that it has just made"


def test_every_list_is_read_in_the_end_by_two() -> None:
    workload = make_workload("append", load())
    asked = [each for client in range(3) for each in workload.closing(client, COUNT)]
    keys = [key for client in range(3) for key in workload.drained_keys(client)]
    assert len(keys) == 2 * len(set(keys))
    assert asked == [Invocation("txn", [["r", key, None]]) for key in keys]


@pytest.mark.parametrize("turns", [False, True])
async def test_a_list_that_is_turned_round_at_the_very_end_is_found(turns: bool) -> None:
    workload, memory, story = make_workload("append", load()), Memory(), []

    async def do(operation: Invocation) -> None:
        done = await InstantClient(memory).invoke(operation)
        story.append((0, done.type, operation.f, done.value))

    for operation in drawn(workload, 0):
        await do(operation)
    for log in memory.logs.values() if turns else ():
        log.appended.reverse()
    for question in workload.closing(0, COUNT):
        await do(question)
    found = check(told(*story), Contract(), ["list-append"])[0]
    assert found.validity is (Validity.INVALID if turns else Validity.VALID)


@pytest.mark.parametrize("name", ["queue", "append", "latest", "admin"])
def test_every_other_client_stays_with_a_key_and_the_rest_roam(name: str) -> None:
    workload = make_workload(name, load(clients=4))

    def used(client: int, since: int) -> set[str]:
        operations = [workload.operation(client, since + ordinal) for ordinal in range(512)]
        return set().union(*(keys_in(each) for each in operations if each.f in ("send", "txn")))

    for client in (0, 2):
        assert len(used(client, 0)) > 2
    stays = [used(client, since) for client in (1, 3) for since in range(0, 16 * 512, 512)]
    assert {len(keys) for keys in stays} == {1}
    assert len(set().union(*stays)) > 2, "not with the same one for ever"
