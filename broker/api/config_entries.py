"""Every configuration of a topic or broker with its value, and where the value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from broker.config.definitions import BROKER_PROPERTIES
from broker.config.definitions.topic import SYNONYMS, TOPIC_PROPERTIES
from broker.config.property import Meaning, Property
from broker.config.topic import broker_value
from broker.config.values import value_text

if TYPE_CHECKING:
    from broker.node import Node


class ConfigSource(IntEnum):
    """Kafka's numbers."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """`synonyms` are all places that say a value, the one that wins first."""

    known: Property
    value: str | None
    source: ConfigSource
    synonyms: list[Synonym]

    @property
    def name(self) -> str:
        return self.known.name


def topic_entries(node: Node, overrides: Mapping[str, str]) -> Iterator[ConfigEntry]:
    for name, known in TOPIC_PROPERTIES.items():
        synonyms: list[Synonym] = []
        if name in overrides:
            synonyms.append(Synonym(name, overrides[name], ConfigSource.TOPIC))
        if name in SYNONYMS:
            synonyms += _said_by_broker(node, [synonym.name for synonym in SYNONYMS[name]])
            value = value_text(broker_value(node.config, name))
        else:
            value = value_text(known.default)
            synonyms.append(Synonym(name, value, ConfigSource.DEFAULT))
        yield ConfigEntry(known, overrides.get(name, value), synonyms[0].source, synonyms)


def broker_entries(node: Node) -> Iterator[ConfigEntry]:
    for name, known in sorted(BROKER_PROPERTIES.items()):
        if known.meaning is not Meaning.REFUSED:
            synonyms = _said_by_broker(node, [name])
            yield ConfigEntry(known, synonyms[0].value, synonyms[0].source, synonyms)


def default_broker_entries(node: Node) -> Iterator[ConfigEntry]:
    """Only what was changed for the whole cluster while it ran."""
    for name, value in sorted(node.metadata.image.default_broker_configs().items()):
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER
        yield ConfigEntry(BROKER_PROPERTIES[name], value, source, [Synonym(name, value, source)])


def _said_by_broker(node: Node, names: list[str]) -> list[Synonym]:
    """All that the broker's layers say under these names; the last always says something."""
    image = node.metadata.image
    layers = (
        (image.own_broker_configs(node.node_id), ConfigSource.DYNAMIC_BROKER),
        (image.default_broker_configs(), ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (node.config.from_file, ConfigSource.STATIC_BROKER),
    )
    said: list[Synonym] = []
    for name in names:
        said += [
            Synonym(name, given[name].strip(), source) for given, source in layers if name in given
        ]
        default = value_text(BROKER_PROPERTIES[name].default)
        if default is not None or (name == names[-1] and not said):
            said.append(Synonym(name, default, ConfigSource.DEFAULT))
    return said
