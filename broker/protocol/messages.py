"""Kafka's messages as classes, made from the schema text when they are first asked for.

`messages.pyi` says what is here; `broker.protocol.stubs` prints it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from broker.protocol.compile_classes import build_class
from broker.protocol.schema import Message
from broker.protocol.schema_text import schema


def __getattr__(name: str) -> Any:
    message = _message_by_struct().get(name)
    if message is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return classes_of(message)[name]


def __dir__() -> list[str]:
    return sorted(_message_by_struct())


def classes_of(message: Message) -> dict[str, type[Any]]:
    """The classes of a message and of all structs inside it, by name."""
    known: dict[str, type[Any]] = {}
    for struct in message.structs():
        if struct.name not in globals():
            globals()[struct.name] = build_class(struct, known)
        known[struct.name] = globals()[struct.name]
    return known


@cache
def _message_by_struct() -> dict[str, Message]:
    return {
        struct.name: message
        for message in schema().messages.values()
        for struct in message.structs()
    }
