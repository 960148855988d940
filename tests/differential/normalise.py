"""Replaces what no two brokers share (ids, ports, times) by symbols bound at first sight.

A topic id is named after the step that shows it first, `<topic id 1 of good one>`, whatever its
bytes are, and keeps this name for the rest of the play. So two plays agree if the same ids turn up
in the same places.
Sentinels (-1, 0, the zero id, empty strings) keep their meaning and stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker.protocol.errors import ErrorCode
from broker.protocol.schema import ZERO_UUID

SYMBOLS: Mapping[str, str] = {
    "topic_id": "topic id",
    "replica_directory_id": "directory id",
    "voter_directory_id": "directory id",
    "cluster_id": "cluster id",
    "host": "host",
    "port": "port",
    "client_host": "client host",
    "log_dir": "directory",
    "session_id": "session",
    "producer_id": "producer id",
    "member_id": "member",
    "leader": "member",
    "broker_epoch": "broker epoch",
    "finalized_features_epoch": "metadata offset",
    "log_append_time_ms": "time",
    "last_timestamp": "time",
    "last_fetch_timestamp": "time",
    "last_caught_up_timestamp": "time",
    "transaction_start_time_ms": "time",
}
"""The kind of symbol for each field whose values differ between any two brokers."""

DROPPED = frozenset(("throttle_time_ms", "total_bytes", "usable_bytes"))
"""Fields that say something about the moment or the machine only."""

PRESENCE_ONLY = frozenset(("error_message", "batch_index_error_message"))
"""Texts for people: what counts is whether there is one. Kafka writes many empty ones."""

IDENTITY = (
    "api_key", "name", "topic_name", "topic", "topic_id", "group_id", "key", "resource_type",
    "resource_name", "partition_index", "partition_id", "partition",
    "index", "node_id", "broker_id", "replica_id", "log_dir", "member_id", "group_instance_id",
    "transactional_id", "producer_id",
)  # fmt: skip
"""Fields that tell the elements of an array apart."""

UNORDERED = frozenset(("partitions", "subscribed_topic_names"))
"""Arrays of numbers or names that are sets in Kafka."""

IN_ORDER = frozenset(("records",))
"""Arrays of structs whose order means something."""

UNNUMBERED = frozenset(("time",))
"""Kinds of which two values may happen to be equal: only their presence is compared."""

_SENTINELS = (None, -1, 0, "", ZERO_UUID)
_DRAWN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|^[\w-]{22}$")
"""In member ids that a broker made up: a UUID in either of its forms. Others are a script's."""


@dataclass
class Symbols:
    """The names given so far, in one play on one broker."""

    label: str = ""
    """The prefix of every name that the play made up; it is shown as `~`."""
    step: str = ""
    """The step whose answer is looked at."""
    _names: dict[tuple[str, Any], str] = field(default_factory=dict)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def of(self, kind: str, value: Any) -> Any:
        if value in _SENTINELS and not (kind == "producer id" and value == 0):
            return value
        if kind in UNNUMBERED:
            return f"<{kind}>"
        if (kind, value) not in self._names:
            # A number for the whole play would change after the first difference.
            self._counts[kind, self.step] += 1
            number = self._counts[kind, self.step]
            self._names[kind, value] = f"<{kind} {number} of {self.step}>"
        return self._names[kind, value]

    def known(self, kind: str, value: Any) -> Any:
        """Same as `of`, but an id without a name does not get one."""
        return value if value in _SENTINELS else self._names.get((kind, value), f"<{kind}>")


def normalised(value: Any, symbols: Symbols, name: str = "") -> Any:
    """The same tree with symbols; `name` is that of the field in which the value stands."""
    if isinstance(value, dict):
        return {
            key: normalised(each, symbols, key) for key, each in value.items() if key not in DROPPED
        }
    if isinstance(value, list) and name in IN_ORDER:
        return [normalised(each, symbols, name) for each in value]
    if isinstance(value, list):
        ordered = sorted_elements(value, lambda element: _before(element, symbols))
        named = [normalised(each, symbols, name) for each in ordered]
        return sorted(named) if _is_set(name, named) else sorted_elements(named, identity)
    if name.endswith("error_code") and isinstance(value, int):
        return error_name(value)
    if name in PRESENCE_ONLY:
        return "<some text>" if value else None
    kind = SYMBOLS.get(name)
    if isinstance(value, str) and symbols.label and symbols.label in value:
        return value.replace(symbols.label, "~")
    if kind == "member" and not _DRAWN_ID.search(value or ""):
        return value
    return value if kind is None else symbols.of(kind, value)


def _is_set(name: str, elements: list[Any]) -> bool:
    return name in UNORDERED and not any(isinstance(each, dict) for each in elements)


def sorted_elements(elements: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Structs by what tells them apart: the order of most arrays is that of a hash map."""
    if not all(isinstance(each, dict) for each in elements):
        return elements
    return sorted(elements, key=lambda element: repr(key(element)))


def identity(element: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells this element of an array from the others: an id only where there is no name."""
    found = {name: element[name] for name in IDENTITY if element.get(name) not in (None, "")}
    if not found.keys().isdisjoint(("name", "topic", "topic_name")):
        found.pop("topic_id", None)
    return tuple(found.values())


def _before(element: Mapping[str, Any], symbols: Symbols) -> list[Any]:
    """Its place before its own ids are bound: by its names, then by all that it contains.

    New ids count for nothing, since no two brokers share them; known ones count by their symbols.
    """
    names = [element.get(name) for name in IDENTITY if name not in SYMBOLS]
    return [names, _without_new_ids(element, symbols)]


def _without_new_ids(value: Any, symbols: Symbols, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _without_new_ids(each, symbols, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_new_ids(each, symbols, name) for each in value]
    if name in DROPPED or name in PRESENCE_ONLY:
        return None
    kind = SYMBOLS.get(name)
    return value if kind is None else symbols.known(kind, value)


def error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"
