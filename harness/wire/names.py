"""The topics, partitions, groups and transactional ids that a message speaks of.

Where they stand is read from the schema, once for each message and version. Kafka is consistent
enough for that: only a field called `name` needs its struct to tell what it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from broker.protocol.apis import ApiKey
from broker.protocol.schema import ZERO_UUID, Field, Struct
from broker.protocol.schema_text import schema

TopicNameOf = Callable[[bytes], str | None]
"""From a topic's id to its name, where that is known."""

Topics = dict[str | bytes, set[int]]
"""By name or, where a message says no more, by id; each with its partitions."""

_TOPIC = ("topic", "topic_name", "topic_names", "subscribed_topic_names", "topic_id")
_PARTITION = ("partition", "partition_index", "partition_id", "index")
_PARTITIONS = ("partitions", "partition_indexes")
_GROUP = ("group_id", "group_ids", "groups", "groups_names")
_TRANSACTION = ("transactional_id", "transactional_ids", "v3_and_below_transactional_id")

_NO_LONGER = ("forgotten_topics_data",)
"""A fetch that takes a partition out of its session does not read it."""

_KEY_OF_GROUP = 0
_KEY_OF_TRANSACTION = 1


@dataclass(frozen=True, slots=True)
class Names:
    topics: Topics
    groups: tuple[str, ...]
    transactional_ids: tuple[str, ...]

    def has_topic(self, topic: str | None, partition: int | None, name_of: TopicNameOf) -> bool:
        """None stands for any. What a topic's id means is asked only when it matters."""
        for known, partitions in self.topics.items():
            if partition is not None and partition not in partitions:
                continue
            name = known if topic is None or isinstance(known, str) else name_of(known)
            if topic is None or name == topic:
                return True
        return False


NO_NAMES = Names({}, (), ())


def names_in_request(api_key: int, version: int, body: Any) -> Names:
    found = _Found()
    _walk(body, request_places(api_key, version), found, ())
    if api_key == ApiKey.FIND_COORDINATOR:
        _add_coordinator_keys(body, found)
    return found.names()


def names_in_reply(api_key: int, version: int, body: Any, asked: Names) -> Names:
    """`asked` are the names in the request; they fill in what this kind of reply never says."""
    plan = reply_places(api_key, version)
    found = _Found()
    _walk(body, plan, found, ())
    said = found.names()
    return Names(
        said.topics if plan.names_topics else asked.topics,
        said.groups or asked.groups,
        said.transactional_ids or asked.transactional_ids,
    )


@dataclass(frozen=True, slots=True)
class Places:
    """The fields of one struct, in one version, that hold names, and those that lead to more."""

    topics: tuple[str, ...]
    partitions: tuple[str, ...]
    groups: tuple[str, ...]
    transactional_ids: tuple[str, ...]
    inner: tuple[tuple[str, Places], ...]

    @property
    def names_topics(self) -> bool:
        return bool(self.topics) or any(each.names_topics for _, each in self.inner)

    @property
    def is_empty(self) -> bool:
        here = self.topics or self.partitions or self.groups or self.transactional_ids
        return not here and not self.inner


@cache
def request_places(api_key: int, version: int) -> Places:
    return _places(schema().apis[api_key].request.struct, version)


@cache
def reply_places(api_key: int, version: int) -> Places:
    return _places(schema().apis[api_key].response.struct, version)


def _places(struct: Struct, version: int) -> Places:
    fields = [f for f in struct.fields if version in f.versions and f.name not in _NO_LONGER]
    inner = [(each.name, _places(each.struct, version)) for each in fields if each.struct]
    return Places(
        topics=tuple(each.name for each in fields if _names_topic(each, struct)),
        partitions=tuple(each.name for each in fields if _names_partition(each)),
        groups=_strings(fields, _GROUP),
        transactional_ids=_strings(fields, _TRANSACTION),
        inner=tuple((name, plan) for name, plan in inner if not plan.is_empty),
    )


def _names_topic(field: Field, struct: Struct) -> bool:
    if field.struct is not None:
        return False
    if field.name == "name":
        # Listeners, features, protocols and configs have names as well.
        return "Topic" in struct.name and "Config" not in struct.name
    return field.name in _TOPIC


def _names_partition(field: Field) -> bool:
    if field.type != "int32":
        return False
    return field.name in (_PARTITIONS if field.is_array else _PARTITION)


def _strings(fields: Sequence[Field], wanted: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each.name for each in fields if each.type == "string" and each.name in wanted)


class _Found:
    def __init__(self) -> None:
        self.topics: Topics = {}
        self.groups: list[str] = []
        self.transactional_ids: list[str] = []

    def names(self) -> Names:
        return Names(self.topics, tuple(self.groups), tuple(self.transactional_ids))


def _walk(value: Any, plan: Places, found: _Found, around: Sequence[set[int]]) -> None:
    """`around` are the partitions of the topics that the structs further out have named."""
    if plan.topics:
        around = [
            found.topics.setdefault(topic, set())
            for name in plan.topics
            for topic in _each(getattr(value, name))
            if topic is not None and topic != ZERO_UUID
        ]
    for name in plan.partitions:
        for partition in _each(getattr(value, name)):
            for partitions in around:
                partitions.add(partition)
    for name in plan.groups:
        found.groups += _said(getattr(value, name))
    for name in plan.transactional_ids:
        found.transactional_ids += _said(getattr(value, name))
    for name, inner in plan.inner:
        for each in _each(getattr(value, name)):
            _walk(each, inner, found, around)


def _each(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)


def _said(value: Any) -> list[str]:
    return [each for each in _each(value) if each]


def _add_coordinator_keys(body: Any, found: _Found) -> None:
    keys = _said(body.coordinator_keys) or _said(body.key)
    if body.key_type == _KEY_OF_GROUP:
        found.groups += keys
    elif body.key_type == _KEY_OF_TRANSACTION:
        found.transactional_ids += keys
