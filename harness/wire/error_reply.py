"""Turns a reply into the same reply with an error in every place that has room for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from broker.protocol import codec, frames
from broker.protocol.errors import ErrorCode
from broker.protocol.schema import Struct
from broker.protocol.schema_text import schema
from harness.wire.message import Message

_NAMES = {int(each): each.name for each in ErrorCode}
_ERROR = ("error_code", "partition_error_code")


def can_carry_error(reply: Message) -> bool:
    """A fetch reply of an old version that names no partition has no room, for one."""
    if reply.is_request or reply.body is None:
        return False
    body, version = reply.decode()
    return _count(body, _reply_places(reply.api_key, version)) > 0


def errors_in(reply: Message) -> tuple[str, ...]:
    """Names of the errors in a reply, each once; NONE alone if it has no other."""
    if reply.body is None:
        return ()
    body, version = reply.decode()
    codes = set(_codes(body, _reply_places(reply.api_key, version)))
    names = sorted(_name_of(code) for code in codes if code)
    return tuple(names) if names or not codes else (ErrorCode.NONE.name,)


def error_reply(reply: Message, code: ErrorCode) -> bytes:
    """The new frame, without length. Records go: no broker sends any beside an error."""
    body, version = reply.decode()
    _put(body, _reply_places(reply.api_key, version), code)
    chunks = frames.response_frame(
        reply.api_key,
        version,
        reply.correlation_id,
        codec.encode_response(reply.api_key, version, body),
    )
    return b"".join(chunks)[frames.LENGTH_SIZE :]


@dataclass(frozen=True, slots=True)
class _Places:
    errors: tuple[str, ...]
    records: tuple[str, ...]
    inner: tuple[tuple[str, _Places], ...]


@cache
def _reply_places(api_key: int, version: int) -> _Places:
    return _places(schema().apis[api_key].response.struct, version)


def _places(struct: Struct, version: int) -> _Places:
    fields = [each for each in struct.fields if version in each.versions]
    return _Places(
        tuple(each.name for each in fields if each.name in _ERROR),
        tuple(each.name for each in fields if each.type == "records"),
        tuple((each.name, _places(each.struct, version)) for each in fields if each.struct),
    )


def _count(value: Any, places: _Places) -> int:
    return len(places.errors) + sum(
        _count(each, inner) for name, inner in places.inner for each in _each(getattr(value, name))
    )


def _codes(value: Any, places: _Places) -> Iterator[int]:
    for name in places.errors:
        yield getattr(value, name)
    for name, inner in places.inner:
        for each in _each(getattr(value, name)):
            yield from _codes(each, inner)


def _name_of(code: int) -> str:
    """A broker of a later version may know errors that we do not."""
    return _NAMES.get(code, f"error {code}")


def _put(value: Any, places: _Places, code: ErrorCode) -> None:
    for name in places.errors:
        setattr(value, name, int(code))
    for name in places.records:
        setattr(value, name, b"")
    for name, inner in places.inner:
        for each in _each(getattr(value, name)):
            _put(each, inner, code)


def _each(value: Any) -> Any:
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)
