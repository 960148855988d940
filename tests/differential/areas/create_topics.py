"""CreateTopics: names, counts, assignments and configurations."""

from __future__ import annotations

from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

CREATE = ApiKey.CREATE_TOPICS


def new(name: str, partitions: int = 1, factor: int = 1, **more: Any) -> Fields:
    return {"name": name, "num_partitions": partitions, "replication_factor": factor, **more}


def asked(*topics: Fields, **more: Any) -> Fields:
    return {"topics": list(topics), "timeout_ms": 30_000, **more}


def without_configs(talk: Talk, step: str, **fields: Any) -> None:
    """The configurations of a new topic are compared once, in a story of their own."""
    for topic in talk.ask(step, **fields).topics:
        if topic.get("configs"):
            topic["configs"] = [{"name": "some of them"}]


@story(CREATE)
def names(talk: Talk) -> None:
    name = talk.name()
    without_configs(talk, "a good one", **asked(new(name)))
    without_configs(talk, "the same again", **asked(new(name)))
    for bad in ("", ".", "..", "no/name", "no name", "ü", "x" * 250):
        without_configs(talk, f"name {bad[:10]!r} of {len(bad)}", **asked(new(bad)))
    dotted = talk.name() + ".a"
    without_configs(talk, "a name with a dot", **asked(new(dotted)))
    without_configs(talk, "the same with an underscore", **asked(new(dotted.replace(".", "_"))))
    without_configs(talk, "the metadata log", **asked(new("__cluster_metadata")))
    without_configs(talk, "no topics", **asked())
    again = talk.name()
    without_configs(talk, "twice in one request", **asked(new(again), new(again)))
    without_configs(talk, "good and bad", **asked(new(talk.name()), new("no/name")))
    only = talk.name()
    without_configs(talk, "only validated", **asked(new(only), validate_only=True))
    without_configs(talk, "only validated, bad", **asked(new("."), validate_only=True))
    without_configs(talk, "existing, only validated", **asked(new(name), validate_only=True))
    talk.ask("was it made", ApiKey.METADATA, version=9, topics=[{"name": only}])
    without_configs(talk, "timeout 0", **asked(new(talk.name()), timeout_ms=0))
    without_configs(talk, "negative timeout", **asked(new(talk.name()), timeout_ms=-1))


@story(CREATE)
def counts(talk: Talk) -> None:
    def one(step: str, partitions: int, factor: int) -> None:
        without_configs(talk, step, **asked(new(talk.name(), partitions, factor)))

    one("three partitions", 3, 1)
    one("no partitions", 0, 1)
    one("partitions -2", -2, 1)
    one("too many replicas", 1, 2)
    one("no replicas", 1, 0)
    one("replicas -2", 1, -2)
    one("defaults", -1, -1)
    one("default partitions", -1, 1)
    one("default replicas", 2, -1)
    one("everything wrong", 0, 0)


@story(CREATE)
def assignments(talk: Talk) -> None:
    def one(step: str, partitions: int, factor: int, assigned: dict[int, list[int]]) -> None:
        listed = [{"partition_index": key, "broker_ids": ids} for key, ids in assigned.items()]
        topic = new(talk.name(), partitions, factor, assignments=listed)
        without_configs(talk, step, **asked(topic))

    one("two partitions", -1, -1, {0: [1], 1: [1]})
    one("a gap", -1, -1, {0: [1], 2: [1]})
    one("not from zero", -1, -1, {1: [1]})
    one("negative index", -1, -1, {-1: [1]})
    one("unknown broker", -1, -1, {0: [9]})
    one("a broker twice", -1, -1, {0: [1, 1]})
    one("no brokers", -1, -1, {0: []})
    one("different lengths", -1, -1, {0: [1], 1: [1, 9]})
    one("with a count of partitions", 1, -1, {0: [1]})
    one("with a replication factor", -1, 1, {0: [1]})
    topic = new(talk.name(), -1, -1, assignments=[{"partition_index": 0, "broker_ids": [1]}] * 2)
    without_configs(talk, "an index twice", **asked(topic))


@story(CREATE)
def configurations(talk: Talk) -> None:
    def one(step: str, **configs: str | None) -> None:
        listed = [{"name": key.replace("_", "."), "value": configs[key]} for key in configs]
        without_configs(talk, step, **asked(new(talk.name(), configs=listed)))

    one("good", retention_ms="1000", cleanup_policy="compact")
    one("unknown name", no_such_config="1")
    one("not a number", retention_ms="soon")
    one("out of range", segment_bytes="1")
    one("negative", max_message_bytes="-1")
    one("null value", retention_ms=None)
    one("empty value", retention_ms="")
    one("bad policy", cleanup_policy="burn")
    one("empty policy", cleanup_policy="")
    one("none as policy", cleanup_policy="none")
    one("bad boolean", preallocate="maybe")
    one("boolean in capitals", preallocate="TRUE")
    one("bad codec", compression_type="brotli")
    one("zero replicas in sync", min_insync_replicas="0")
    one("more in sync than replicas", min_insync_replicas="5")
    one("with blanks", retention_ms=" 1000 ")
    one("a broker's name", log_retention_ms="1000")
    one("bad ratio", min_cleanable_dirty_ratio="2")
    one("removed", message_format_version="2.0")
    one("bad timestamp type", message_timestamp_type="Never")
    one("remote storage", remote_storage_enable="true")
    one("compression level", compression_gzip_level="99")
    one("throttled replicas", leader_replication_throttled_replicas="*")
    one("bad throttled replicas", leader_replication_throttled_replicas="x")
    topic = new(
        talk.name(),
        configs=[{"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}],
    )
    without_configs(talk, "a name twice", **asked(topic))


@story(CREATE, 5)
def configurations_of_a_new_topic(talk: Talk) -> None:
    configs = [{"name": "retention.ms", "value": "1000"}]
    talk.ask("all of them", **asked(new(talk.name(), configs=configs)))
