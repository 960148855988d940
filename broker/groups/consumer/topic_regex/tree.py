"""A parsed regular expression."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from broker.groups.consumer.topic_regex.characters import Characters


class Place(Enum):
    """An assertion about the position, which consumes nothing."""

    BEGIN = "begin"
    END = "end"
    WORD_BOUNDARY = "word boundary"
    NO_WORD_BOUNDARY = "no word boundary"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One character out of a set. The set may be empty: then nothing matches."""

    characters: Characters


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Node
    least: int
    most: int | None
    """None: any number."""


Node: TypeAlias = OneOf | Sequence | Choice | Repeat | Place

EMPTY = Sequence(())
