"""What is known about Kafka's messages: their fields, types and versions, as plain objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

FIXED_TYPES: Mapping[str, str] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
"""Types that always take the same number of bytes, with their letters in `struct`."""

VARIABLE_TYPES = ("string", "bytes", "records")
ZERO_UUID = bytes(16)


@dataclass(frozen=True, slots=True)
class Versions:
    """A closed range of versions; empty when `first` is above `last`."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))

    def __len__(self) -> int:
        return max(0, self.last + 1 - self.first)


NEVER = Versions(0, -1)


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    """A fixed or variable type, or the name of a struct."""
    is_array: bool
    versions: Versions
    null: Versions
    """The versions in which null may stand here."""
    tag: int | None
    default: int | float | bool | str | bytes | None
    """None is null; arrays and structs that are not null by default carry the empty string."""
    inflexible: bool
    """Keeps the old length prefix even in flexible versions."""
    struct: Struct | None

    @property
    def is_optional(self) -> bool:
        """A struct with a tag is None when it was not sent: nobody pays for building it."""
        return self._is_tagged_struct and self.null == NEVER

    @property
    def is_sent_as_null(self) -> bool:
        """A struct with a tag that may be null is always sent: Kafka's default for it is not null,
        but a struct with defaults."""
        return self._is_tagged_struct and self.null != NEVER

    @property
    def _is_tagged_struct(self) -> bool:
        return self.struct is not None and not self.is_array and self.tag is not None

    @property
    def defaults_to_none(self) -> bool:
        return self.default is None or self.is_optional


@dataclass(slots=True)
class Struct:
    """A message, or a struct inside one. Its fields have the order of the wire."""

    name: str
    fields: list[Field] = field(default_factory=list)

    def in_version(self, version: int) -> list[Field]:
        """The fields without a tag."""
        return [f for f in self.fields if version in f.versions and f.tag is None]

    def tagged_in_version(self, version: int) -> list[Field]:
        found = [f for f in self.fields if version in f.versions and f.tag is not None]
        return sorted(found, key=lambda f: f.tag or 0)


@dataclass(frozen=True, slots=True)
class Message:
    """A struct that is sent on its own, with the versions it is known in."""

    struct: Struct
    versions: Versions
    flexible: Versions

    @property
    def name(self) -> str:
        return self.struct.name

    def structs(self) -> list[Struct]:
        """The message's struct and all inside it, the inner ones first."""
        return list(_walk(self.struct, {}).values())


@dataclass(frozen=True, slots=True)
class Api:
    key: int
    name: str
    request: Message
    response: Message

    @property
    def versions(self) -> Versions:
        return self.request.versions

    @property
    def flexible(self) -> Versions:
        return self.request.flexible


@dataclass(frozen=True, slots=True)
class Schema:
    """All that the schema files say."""

    apis: Mapping[int, Api]
    messages: Mapping[str, Message]


def _walk(struct: Struct, found: dict[str, Struct]) -> dict[str, Struct]:
    for inner in struct.fields:
        if inner.struct is not None and inner.struct.name not in found:
            _walk(inner.struct, found)
    found[struct.name] = struct
    return found
