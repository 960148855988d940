"""The hash of subscribed topics is Kafka's, and changes with everything that matters."""

from __future__ import annotations

from broker.groups.consumer.metadata_hash import MetadataHashes, topic_hash
from tests.unit.broker.groups.consumer.desk import FakeTopics

ORDERS_ID = bytes(range(1, 17))
Z_ID = b"\xff" * 8 + (5).to_bytes(8, "big")


def test_topics_hash_as_in_kafka() -> None:
    # Printed by Utils.computeTopicHash of Kafka 4.3.1.
    racks = [["rack2", "rack1"], [], ["rack1", "rack2"]]
    assert topic_hash(ORDERS_ID, "orders", racks) == -2197550480693712498
    assert topic_hash(Z_ID, "z", [[]] * 40) == -7341196669434759545


def test_a_set_of_topics_hashes_as_in_kafka() -> None:
    topics = FakeTopics()
    topics._topics = {"z": (Z_ID, 40), "orders": (ORDERS_ID, 3)}
    topics.racks_of["orders"] = [["rack2", "rack1"], [], ["rack1", "rack2"]]
    # Printed by Utils.computeGroupHash for both of the above.
    assert MetadataHashes(topics).of(["z", "missing", "orders"]) == 3994465362584471222


def test_no_topics_and_topics_that_do_not_exist_hash_to_zero() -> None:
    hashes = MetadataHashes(FakeTopics())
    assert (hashes.of([]), hashes.of(["missing"])) == (0, 0)


def test_partitions_racks_and_a_new_id_change_the_hash() -> None:
    topics = FakeTopics()
    topics.put("t", 1)
    seen = [_hash(topics)]
    topics.put("t", 2)
    seen.append(_hash(topics))
    topics.racks_of["t"] = [["r1"], []]
    seen.append(_hash(topics))
    topics.racks_of["t"] = [[], ["r1"]]
    seen.append(_hash(topics))
    topics.delete("t")
    topics.put("t", 2)
    seen.append(_hash(topics))
    assert len(set(seen)) == len(seen)


def test_a_topic_is_hashed_again_only_when_it_changed() -> None:
    topics = FakeTopics()
    topics.put("t", 1)
    hashes = MetadataHashes(topics)
    before = hashes.of(["t"])
    topics.put("t", 2)
    assert hashes.of(["t"]) == before
    hashes.forget("t")
    assert hashes.of(["t"]) != before


def _hash(topics: FakeTopics) -> int:
    return MetadataHashes(topics).of(["t"])
