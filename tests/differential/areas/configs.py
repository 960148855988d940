"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Fields, Talk

DESCRIBE, ALTER, CHANGE = (
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
)
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
OWN_ADDRESSES = ("advertised.listeners", "controller.quorum.voters", "listeners", "log.dirs")


def described(
    kind: int, name: str, keys: Sequence[str] | None = ("retention.ms",), **more: Any
) -> Fields:
    listed = None if keys is None else list(keys)
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": listed}
    return {"resources": [resource], **more}


def show(talk: Talk, topic: str, *keys: str) -> None:
    wanted = described(TOPIC, topic, keys, include_synonyms=True)
    talk.topic()  # What a broker applies later shows that it has applied the change.
    talk.ask("what it is now", DESCRIBE, version=4, **wanted)


@story(DESCRIBE)
def of_topics(talk: Talk) -> None:
    topic = talk.topic(retention_ms="1000").name
    talk.ask("one that is set", **described(TOPIC, topic))
    talk.ask("with synonyms", **described(TOPIC, topic), include_synonyms=True)
    talk.ask(
        "a default, with synonyms",
        **described(TOPIC, topic, ["segment.bytes"]),
        include_synonyms=True,
    )
    talk.ask("no keys", **described(TOPIC, topic, []))
    talk.ask("unknown key", **described(TOPIC, topic, ["no.such.key", "retention.ms"]))
    talk.ask("a key twice", **described(TOPIC, topic, ["retention.ms", "retention.ms"]))
    talk.ask("unknown topic", **described(TOPIC, talk.name()))
    talk.ask("illegal name", **described(TOPIC, "no/name"))
    talk.ask("empty name", **described(TOPIC, ""))
    talk.ask("all of them", **described(TOPIC, topic, None))
    talk.ask("no resources", resources=[])
    one = described(TOPIC, topic)["resources"][0]
    talk.attempt("a resource twice", resources=[one, one])


@story(DESCRIBE)
def of_other_resources(talk: Talk) -> None:
    talk.ask("a broker's setting", **described(BROKER, "1", ["log.retention.hours", "node.id"]))
    talk.ask("default of all brokers", **described(BROKER, "", ["log.retention.ms"]))
    talk.ask("another broker", **described(BROKER, "9", ["node.id"]))
    talk.ask("a broker without number", **described(BROKER, "one", ["node.id"]))
    talk.ask("logger of another broker", **described(LOGGER, "9", ["root"]))
    talk.ask("loggers of all brokers", **described(LOGGER, "", ["root"]))
    for kind in (0, 1, 3, 5, 99, -1):
        talk.attempt(f"resource type {kind}", **described(kind, "x", None))


@story(DESCRIBE, 4)
def of_the_broker(talk: Talk) -> None:
    """Every setting of a broker: names, kinds and where each value comes from."""
    for entry in talk.ask("all of them", **described(BROKER, "1", None)).results[0].configs:
        if entry.name in OWN_ADDRESSES:
            entry["value"] = "its own"


def altered(kind: int, name: str, /, **configs: str | None) -> Fields:
    listed = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    resource = {"resource_type": kind, "resource_name": name, "configs": listed}
    return {"resources": [resource]}


@story(ALTER)
def replaced(talk: Talk) -> None:
    """AlterConfigs replaces all settings of a resource."""
    topic = talk.topic(retention_ms="1000", segment_bytes="2000000").name
    talk.ask("one value", **altered(TOPIC, topic, retention_ms="5000"))
    show(talk, topic, "retention.ms", "segment.bytes")
    talk.ask("only validated", **altered(TOPIC, topic, retention_ms="7000"), validate_only=True)
    talk.ask(
        "bad value, only validated", **altered(TOPIC, topic, retention_ms="x"), validate_only=True
    )
    talk.ask("bad value", **altered(TOPIC, topic, retention_ms="x"))
    talk.ask("unknown name", **altered(TOPIC, topic, no_such_key="1"))
    talk.ask("null value", **altered(TOPIC, topic, retention_ms=None))
    talk.ask("empty value", **altered(TOPIC, topic, retention_ms=""))
    talk.ask("unknown topic", **altered(TOPIC, talk.name(), retention_ms="1"))
    talk.ask("illegal topic name", **altered(TOPIC, "no/name", retention_ms="1"))
    talk.ask("empty topic name", **altered(TOPIC, "", retention_ms="1"))
    for kind in (0, 1, 3, 99):
        talk.attempt(f"resource type {kind}", **altered(kind, "x", retention_ms="1"))
    talk.ask("unknown broker", **altered(BROKER, "9", log_retention_ms="1"))
    talk.ask("a broker without number", **altered(BROKER, "one", log_retention_ms="1"))
    talk.ask("a setting that is read only", **altered(BROKER, "1", node_id="5"))
    talk.ask("an unknown setting of a broker", **altered(BROKER, "1", no_such_key="5"))
    one = altered(TOPIC, topic, retention_ms="9000")["resources"][0]
    double = {**one, "configs": one["configs"] * 2}
    talk.ask("a name twice", resources=[double])
    talk.ask("no resources", resources=[])
    talk.ask("no configs", **altered(TOPIC, topic))
    show(talk, topic, "retention.ms", "segment.bytes")


@story(ALTER, 2)
def the_same_resource_twice(talk: Talk) -> None:
    """Kafka's controller fails over this and never answers, so one version is enough."""
    one = altered(TOPIC, talk.topic().name, retention_ms="9000")["resources"][0]
    talk.attempt("twice", resources=[one, one], patience_s=2.0)


def changed(kind: int, name: str, *changes: tuple[str, int, str | None], **more: Any) -> Fields:
    listed = [{"name": n, "config_operation": op, "value": value} for n, op, value in changes]
    resource = {"resource_type": kind, "resource_name": name, "configs": listed}
    return {"resources": [resource], **more}


@story(CHANGE)
def changed_one_by_one(talk: Talk) -> None:
    topic = talk.topic(retention_ms="1000").name
    key = "retention.ms"
    talk.ask("set", **changed(TOPIC, topic, ("segment.bytes", SET, "2000000")))
    show(talk, topic, key, "segment.bytes")
    talk.ask("delete", **changed(TOPIC, topic, (key, DELETE, None)))
    talk.ask("delete with a value", **changed(TOPIC, topic, (key, DELETE, "5")))
    talk.ask("delete what is not set", **changed(TOPIC, topic, ("flush.ms", DELETE, None)))
    talk.ask("delete an unknown name", **changed(TOPIC, topic, ("no.such.key", DELETE, None)))
    talk.ask("append to a list", **changed(TOPIC, topic, ("cleanup.policy", APPEND, "compact")))
    talk.ask("append again", **changed(TOPIC, topic, ("cleanup.policy", APPEND, "compact")))
    show(talk, topic, "cleanup.policy")
    talk.ask(
        "subtract from a list", **changed(TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete"))
    )
    talk.ask("subtract the last", **changed(TOPIC, topic, ("cleanup.policy", SUBTRACT, "compact")))
    talk.ask("append to a number", **changed(TOPIC, topic, (key, APPEND, "1")))
    talk.ask("append null", **changed(TOPIC, topic, ("cleanup.policy", APPEND, None)))
    talk.ask("append nonsense", **changed(TOPIC, topic, ("cleanup.policy", APPEND, "burn")))
    talk.ask("set null", **changed(TOPIC, topic, (key, SET, None)))
    talk.ask("set empty", **changed(TOPIC, topic, (key, SET, "")))
    talk.ask("set nonsense", **changed(TOPIC, topic, (key, SET, "x")))
    talk.ask("unknown name", **changed(TOPIC, topic, ("no.such.key", SET, "x")))
    talk.ask("a name twice", **changed(TOPIC, topic, (key, SET, "1"), (key, SET, "2")))
    for operation in (4, 9, -1):
        talk.attempt(f"operation {operation}", **changed(TOPIC, topic, (key, operation, "1")))
    talk.ask("only validated", **changed(TOPIC, topic, (key, SET, "77")), validate_only=True)
    show(talk, topic, key, "cleanup.policy", "segment.bytes")
    talk.ask("good and bad together", **changed(TOPIC, topic, (key, SET, "8"), ("x.y", SET, "1")))
    show(talk, topic, key)


def eventually(talk: Talk, wanted: Fields, source: int) -> None:
    """Until the broker has learned of the change from the controller."""

    def is_there(response: Any) -> bool:
        return [each.config_source for each in response.results[0].configs] == [source]

    talk.setup(DESCRIBE, version=4, until=is_there, **wanted)


@story(CHANGE)
def changes_of_other_resources(talk: Talk) -> None:
    key = "retention.ms"
    talk.ask("unknown topic", **changed(TOPIC, talk.name(), (key, SET, "1")))
    talk.ask("illegal topic name", **changed(TOPIC, "no/name", (key, SET, "1")))
    for kind in (0, 1, 3, 99):
        talk.attempt(f"resource type {kind}", **changed(kind, "x", (key, SET, "1")))
    talk.ask("unknown broker", **changed(BROKER, "9", ("log.retention.ms", SET, "1")))
    talk.ask("a broker without number", **changed(BROKER, "one", ("log.retention.ms", SET, "1")))
    talk.ask("read only", **changed(BROKER, "1", ("node.id", SET, "5")))
    talk.ask("unknown setting", **changed(BROKER, "1", ("no.such.key", SET, "5")))
    talk.ask("a dynamic one", **changed(BROKER, "1", ("log.cleaner.threads", SET, "1")))
    wanted = described(BROKER, "1", ["log.cleaner.threads"], include_synonyms=True)
    eventually(talk, wanted, 2)
    talk.ask("what it is now", DESCRIBE, version=4, **wanted)
    talk.ask("deleted again", **changed(BROKER, "1", ("log.cleaner.threads", DELETE, None)))
    talk.ask("for all brokers", **changed(BROKER, "", ("message.max.bytes", SET, "1000000")))
    wanted = described(BROKER, "", ["message.max.bytes"], include_synonyms=True)
    eventually(talk, wanted, 3)
    talk.ask("what it is for all", DESCRIBE, version=4, **wanted)
    talk.ask("deleted for all", **changed(BROKER, "", ("message.max.bytes", DELETE, None)))
    topic = talk.topic().name
    one = changed(TOPIC, topic, (key, SET, "1"))["resources"][0]
    talk.ask("a resource twice", resources=[one, one])
    talk.ask("no resources", resources=[])
    talk.ask("no changes", **changed(TOPIC, topic))


@story(ApiKey.LIST_CONFIG_RESOURCES)
def resources(talk: Talk) -> None:
    talk.topic()
    if talk.version == 0:
        talk.ask("client metrics")
        return
    for kinds in (
        [TOPIC],
        [BROKER],
        [LOGGER],
        [CLIENT_METRICS],
        [GROUP],
        [],
        [0],
        [99],
        [TOPIC, BROKER],
    ):
        response = talk.attempt(f"types {kinds}", resource_types=kinds).response
        if response is not None:
            response["config_resources"] = [
                each
                for each in response.config_resources
                if each.resource_type != TOPIC or each.resource_name.startswith(talk.label)
            ]
