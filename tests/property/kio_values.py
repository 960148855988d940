"""Our messages as kio has them: the same fields in the same order, some in richer types."""

from __future__ import annotations

import datetime
import re
import typing
from dataclasses import Field as TheirField
from dataclasses import dataclass, fields
from io import BytesIO
from pkgutil import resolve_name
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from broker.protocol.schema import ZERO_UUID, Field, Message, Struct
from tests.property.message_values import new

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_KINDS = {
    "Request": EntityType.request,
    "Response": EntityType.response,
    "Header": EntityType.header,
}


@dataclass(frozen=True)
class Pair:
    """One field, as we and as they know it."""

    ours: Field
    theirs: TheirField[Any]
    inner: type[Any] | None
    """Their class, when the field has structs."""

    @property
    def kind(self) -> str:
        return str(self.theirs.metadata.get("kafka_type", "struct"))


def their_class(message: Message, version: int) -> type[Any]:
    kind = next((kind for kind in _KINDS if message.name.endswith(kind)), "")
    name = message.name if kind == "Header" else message.name.removesuffix(kind)
    snake = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    entity = _KINDS.get(kind, EntityType.data)
    found: type[Any] = resolve_name(schema_name_map[snake][version][entity])  # type: ignore[index]
    return found


def their_bytes(entity: Any) -> bytes:
    buffer = BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def their_value(cls: type[Any], data: bytes) -> tuple[Any, int]:
    value, size = entity_reader(cls)(data, 0)
    return value, size


_known_pairs: dict[tuple[str, int], list[Pair]] = {}


def pairs(struct: Struct, version: int, cls: type[Any]) -> list[Pair]:
    """The fields of this version; the names must agree, but for kio's love of types."""
    found = _known_pairs.get((struct.name, version))
    if found is None:
        found = _known_pairs[struct.name, version] = _paired(struct, version, cls)
    return found


def _paired(struct: Struct, version: int, cls: type[Any]) -> list[Pair]:
    known = [field for field in struct.fields if version in field.versions]
    assert len(known) == len(fields(cls)), f"{struct.name} v{version} has other fields than {cls}"
    hints = typing.get_type_hints(cls)
    found = []
    for ours, theirs in zip(known, fields(cls), strict=True):
        name = theirs.name.rstrip("_").replace("k_raft", "kraft").removeprefix("request_api")
        plain = ours.name.removeprefix("api") if "Header" in struct.name else ours.name
        assert plain in (name, f"{name}_ms"), f"{struct.name} v{version}: {plain} is not {name}"
        found.append(Pair(ours, theirs, _entity_in(hints[theirs.name]) if ours.struct else None))
    return found


def _entity_in(hint: Any) -> type[Any]:
    if hasattr(hint, "__version__"):
        found: type[Any] = hint
        return found
    return next(
        _entity_in(inner)
        for inner in typing.get_args(hint)
        if inner is not type(None) and inner is not Ellipsis
    )


def to_theirs(struct: Struct, version: int, cls: type[Any], value: Any) -> Any:
    converted = {}
    for pair in pairs(struct, version, cls):
        ours = getattr(value, pair.ours.name)
        if pair.ours.struct is not None and pair.ours.is_optional and ours is None:
            ours = new(pair.ours.struct, {})
        if pair.ours.is_array and ours is not None:
            converted[pair.theirs.name] = tuple(_value(pair, version, item) for item in ours)
        else:
            converted[pair.theirs.name] = _value(pair, version, ours)
    return cls(**converted)


def _value(pair: Pair, version: int, value: Any) -> Any:
    if pair.kind == "datetime_i64":
        return None if value == -1 else _EPOCH + value * _MILLISECOND
    if value is None:
        return None
    if pair.ours.struct is not None:
        assert pair.inner is not None
        return to_theirs(pair.ours.struct, version, pair.inner, value)
    match pair.kind:
        case "uuid":
            return None if value == ZERO_UUID else UUID(bytes=value)
        case "error_code":
            return ErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return value * _MILLISECOND
        case "records":
            return bytes(value)
        case _:
            return value
