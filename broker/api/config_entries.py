"""Every configuration of a topic or broker with its value, and where the value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from broker.config.broker import find_property
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
    DYNAMIC_BROKER_LOGGER = 6


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
        yield _entry(known, overrides.get(name, value), synonyms)


def broker_entries(node: Node) -> Iterator[ConfigEntry]:
    known_names = {*BROKER_PROPERTIES, *node.config.given}  # also what is set for one listener
    for name in sorted(known_names):
        known = _named(name)
        if known.meaning is not Meaning.REFUSED:
            synonyms = _said_by_broker(node, [name])
            yield _entry(known, synonyms[0].value if synonyms else None, synonyms)


def _entry(known: Property, value: str | None, synonyms: list[Synonym]) -> ConfigEntry:
    """Where nothing says a value and there is no default, Kafka calls the absence the default."""
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
    return ConfigEntry(known, value, source, synonyms)


def default_broker_entries(node: Node) -> Iterator[ConfigEntry]:
    """Only what was changed for the whole cluster while it ran."""
    for name, value in sorted(node.metadata.image.default_broker_configs().items()):
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER
        yield ConfigEntry(_named(name), value, source, [Synonym(name, value, source)])


def _named(name: str) -> Property:
    """The row of a property; one set for a single listener keeps its longer name."""
    known = BROKER_PROPERTIES.get(name)
    if known is None:
        general = find_property(name)
        assert general is not None, name
        known = replace(general, name=name, default=None)
    return known


def _said_by_broker(node: Node, names: list[str]) -> list[Synonym]:
    """All that the broker's layers say under these names."""
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
        default = value_text(_named(name).default)
        if default is not None:
            said.append(Synonym(name, default, ConfigSource.DEFAULT))
    return said
