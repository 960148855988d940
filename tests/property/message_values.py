"""Values for any message, made from the schema: everything set, everything null, and drawn ones.

A value has the fields of all versions; `in_version` keeps those that one version has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from broker.protocol import messages
from broker.protocol.errors import ErrorCode
from broker.protocol.schema import Field, Struct

_MS_MAX = 250_000_000_000_000
"""In the year 9892: kio has dates and durations where the wire has any 64 bits."""

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_LONG_TEXT = "ünïcödé " * 20
"""Longer than a varint of one byte can say, so that the second byte is needed everywhere."""


def new(struct: Struct, values: dict[str, Any]) -> Any:
    return getattr(messages, struct.name)(**values)


def everything_set(struct: Struct) -> Any:
    """No field has its default, no array is empty, nothing is null."""
    return new(struct, {field.name: _set(field) for field in struct.fields})


def _set(field: Field) -> Any:
    if field.is_array:
        return [_set_one(field), _set_one(field)]
    return _set_one(field)


def _set_one(field: Field) -> Any:
    if field.struct is not None:
        return everything_set(field.struct)
    match field.type:
        case "string":
            return _LONG_TEXT
        case "bytes" | "records":
            return b"\x00\xff" * 700
        case "uuid":
            return bytes(range(1, 17))
        case "bool":
            return not field.default
        case "float64":
            return -0.5
        case "uint16":
            return 65_535
        case "int64" if field.name.endswith("_ms"):
            return _MS_MAX
        case "int16" if field.name.endswith("error_code"):
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED.value
        case _:
            lowest = -(2 ** (_BITS[field.type] - 1))
            return lowest if lowest != field.default else lowest + 1


def everything_null(struct: Struct) -> Any:
    """All that can be null is null, all else is zero or empty: often not the default."""
    return new(struct, {f.name: None if _can_be_none(f) else _empty(f) for f in struct.fields})


def everything_empty(struct: Struct) -> Any:
    """All is zero or empty, nothing is null."""
    return new(struct, {field.name: _empty(field) for field in struct.fields})


def everything_default(struct: Struct) -> Any:
    return new(struct, {})


def nested(struct: Struct, make: Callable[[Struct], Any]) -> Any:
    """As `make` makes it, but arrays have two structs: one as it makes them, and one like this."""
    value = make(struct)
    for field in struct.fields:
        if field.struct is not None:
            inner = nested(field.struct, make)
            setattr(value, field.name, [make(field.struct), inner] if field.is_array else inner)
    return value


def written_examples(struct: Struct) -> list[Any]:
    """Together they have every field set, default, null and empty, at every depth."""
    makers = (everything_null, everything_empty, everything_default)
    return [
        everything_set(struct),
        *(make(struct) for make in makers),
        *(nested(struct, make) for make in makers),
    ]


def _can_be_none(field: Field) -> bool:
    return len(field.null) > 0 or field.is_optional


def _empty(field: Field) -> Any:
    if field.is_array:
        return []
    if field.struct is not None:
        return everything_empty(field.struct)
    empty: dict[str, Any] = {"string": "", "bytes": b"", "records": b"", "uuid": bytes(16)}
    return empty.get(field.type, False if field.type == "bool" else 0)


def drawn(struct: Struct) -> st.SearchStrategy[Any]:
    return st.builds(
        new,
        st.just(struct),
        st.fixed_dictionaries({field.name: _drawn(field) for field in struct.fields}),
    )


def _drawn(field: Field) -> st.SearchStrategy[Any]:
    one = drawn(field.struct) if field.struct is not None else _drawn_primitive(field)
    found = st.lists(one, max_size=2) if field.is_array else one
    return st.none() | found if _can_be_none(field) else found


def _drawn_primitive(field: Field) -> st.SearchStrategy[Any]:
    match field.type:
        case "string":
            return st.text(max_size=8)
        case "bytes" | "records":
            return st.binary(max_size=8)
        case "uuid":
            return st.binary(min_size=16, max_size=16)
        case "bool":
            return st.booleans()
        case "float64":
            return st.floats(allow_nan=False, allow_infinity=False)
        case "uint16":
            return st.integers(0, 65_535)
        case "int64" if field.name.endswith("_ms"):
            # kio reads dates through a float, which is not exact to the millisecond.
            return st.integers(0, _MS_MAX // 1000).map(lambda seconds: seconds * 1000)
        case "int16" if field.name.endswith("error_code"):
            return st.sampled_from([code.value for code in ErrorCode])
        case _:
            bits = _BITS[field.type]
            return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def in_version(struct: Struct, version: int, value: Any) -> Any:
    """What is left of `value` on the wire: this is what a decoder must give back."""
    values = {}
    for field in struct.fields:
        if version in field.versions:
            found = getattr(value, field.name)
            if found is None and version not in field.null and not field.is_optional:
                found = _set(field)
            values[field.name] = _in_version(field, version, found)
    return new(struct, values)


def _in_version(field: Field, version: int, value: Any) -> Any:
    if value is None or field.struct is None:
        return value
    if field.is_array:
        return [in_version(field.struct, version, item) for item in value]
    kept = in_version(field.struct, version, value)
    # A struct with a tag that has nothing but defaults is not sent.
    return None if field.is_optional and kept == new(field.struct, {}) else kept
