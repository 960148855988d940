"""Records with keys: who chooses partitions how, which keys are hot, and when partitions come."""

from __future__ import annotations

from collections import Counter
from typing import Any

from harness.client.driver import place_of
from workloads.base import Load
from workloads.keyed import Keyed


def keyed(clients: int = 20, **more: Any) -> Keyed:
    return Keyed(Load(seed=7, clients=clients, topic_configs={}, **more))


def names(workload: Keyed, client: int) -> Counter[str]:
    operations = [workload.operation(client, ordinal) for ordinal in range(600)]
    sends = [each.value for each in operations if each.f == "send"]
    return Counter(place_of(key).name or "" for value in sends for _, key, _ in value)


def test_clients_differ_in_their_partitioners_and_the_seed_decides() -> None:
    drawn = [keyed().batching(client).partitioner for client in range(20)]
    assert set(drawn) == {"default", "murmur2", "custom"}
    assert drawn == [keyed().batching(client).partitioner for client in range(20)]


def test_some_clients_have_a_hot_key_and_some_none() -> None:
    workload = keyed()
    hottest = [names(workload, client).most_common(1)[0][1] for client in range(20)]
    totals = [names(workload, client).total() for client in range(20)]
    shares = [most / total for most, total in zip(hottest, totals, strict=True)]
    assert min(shares) < 0.15, "all keys alike"
    assert max(shares) > 0.5, "one key with more than half"
    assert any(0.15 < share < 0.5 for share in shares), "fewer and fewer of each key"


def test_a_key_dist_that_was_asked_for_is_that_of_all_clients() -> None:
    workload = keyed(key_dist="hot:90")
    for client in range(6):
        found = names(workload, client)
        assert found.most_common(1)[0][1] / found.total() > 0.8


def test_records_name_keys_and_no_partitions_but_for_the_last_ones() -> None:
    workload = keyed()
    sends = [workload.operation(0, ordinal) for ordinal in range(300)]
    places = [place_of(key) for each in sends if each.f == "send" for _, key, _ in each.value]
    assert {(place.topic, place.partition) for place in places} == {("keyed", -1)}
    assert workload.write(0, 5, "keyed-3").value[0][1] == "keyed-3"


def test_partitions_are_added_one_after_the_other_by_two_clients() -> None:
    workload = keyed()

    def asked(client: int) -> list[int]:
        operations = [workload.operation(client, ordinal) for ordinal in range(4000)]
        found = [each.value for each in operations if each.f == "create-partitions"]
        assert all(each["topic"] == "keyed" for each in found)
        return [each["partitions"] for each in found]

    assert asked(0) == asked(1) == list(range(5, 13))
    assert asked(2) == []


def test_every_partition_that_there_may_be_is_read_back_by_somebody() -> None:
    workload = keyed(clients=3)
    drained = {key for client in range(3) for key in workload.drained_keys(client)}
    assert drained == {f"keyed-{index}" for index in range(12)}


def test_every_process_says_how_it_chooses_and_reads_all_partitions() -> None:
    workload = keyed()
    assert [each.f for each in workload.opening(3, 23)] == ["partitioner", "assign"]
    assert workload.opening(3, 23)[1].value == ["keyed"]


def test_in_the_end_the_number_of_partitions_is_asked_for() -> None:
    workload = keyed()
    (question,) = workload.closing(0, 100)
    assert (question.f, question.value) == ("describe", {"topic": "keyed", "settled": True})
    assert workload.closing(2, 100) == ()


def sizes(workload: Keyed) -> set[int]:
    operations = [workload.operation(3, ordinal) for ordinal in range(600)]
    return {len(each.value) for each in operations if each.f == "send"}


def test_bursts_are_short_because_every_client_reads_them_all() -> None:
    assert 16 < max(sizes(keyed(burst=256))) <= 32
    assert sizes(keyed(burst=1)) == {1}
