"""Turns dataclasses into what JSON can say and back, by the types of their fields alone.

What equals its default is left out, so that records stay short and may gain fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints


class Form(NamedTuple):
    to_plain: Callable[[Any], Any]
    from_plain: Callable[[Any], Any]
    """Raises KeyError, TypeError or ValueError for what `to_plain` never gives."""


@cache
def form_of(kind: Any) -> Form:
    """TypeError for a type that is not used in any record so far."""
    if kind in (int, str, bool):
        return _scalar(kind)
    if kind is bytes:
        return Form(bytes.hex, bytes.fromhex)
    if is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(kind)
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        if arguments[-1] is Ellipsis:
            return _sequence(arguments[0])
        return _fixed(tuple(form_of(each) for each in arguments))
    if get_origin(kind) is Mapping:
        return _mapping(form_of(arguments[0]), form_of(arguments[1]))
    if get_origin(kind) is UnionType and len(arguments) == 2 and arguments[1] is NoneType:
        return _optional(form_of(arguments[0]))
    raise TypeError(f"{kind} has no plain form")


def _unchanged(value: Any) -> Any:
    return value


def _checked(plain: Any, kind: type) -> Any:
    # A bool is an int for Python, but not here.
    if not isinstance(plain, kind) or (kind is int and isinstance(plain, bool)):
        raise TypeError(f"{plain!r} is no {kind.__name__}")
    return plain


def _scalar(kind: type) -> Form:
    return Form(_unchanged, lambda plain: _checked(plain, kind))


def _optional(inner: Form) -> Form:
    return Form(
        lambda value: None if value is None else inner.to_plain(value),
        lambda plain: None if plain is None else inner.from_plain(plain),
    )


def _sequence(kind: Any) -> Form:
    if kind is int:  # most of what there is
        return Form(list, _integers)
    inner = form_of(kind)
    return Form(
        lambda values: [inner.to_plain(each) for each in values],
        lambda plain: tuple([inner.from_plain(each) for each in _checked(plain, list)]),
    )


def _integers(plain: Any) -> tuple[int, ...]:
    for each in _checked(plain, list):
        if type(each) is not int:
            raise TypeError(f"{each!r} is no int")
    return tuple(plain)


def _fixed(members: tuple[Form, ...]) -> Form:
    return Form(
        lambda values: [form.to_plain(each) for form, each in zip(members, values, strict=True)],
        lambda plain: tuple(
            form.from_plain(each) for form, each in zip(members, _checked(plain, list), strict=True)
        ),
    )


def _mapping(key: Form, value: Form) -> Form:
    return Form(
        lambda values: {key.to_plain(k): value.to_plain(v) for k, v in values.items()},
        lambda plain: {
            key.from_plain(k): value.from_plain(v) for k, v in _checked(plain, dict).items()
        },
    )


def _dataclass(kind: type) -> Form:
    hints = get_type_hints(kind)
    members = [(each.name, form_of(hints[each.name]), each.default) for each in fields(kind)]
    required = [name for name, _, default in members if default is MISSING]
    forms = {name: form for name, form, _ in members}

    def to_plain(value: Any) -> dict[str, Any]:
        plain = {}
        for name, form, default in members:
            member = getattr(value, name)
            if default is MISSING or member != default:
                plain[name] = form.to_plain(member)
        return plain

    def from_plain(plain: Any) -> Any:
        _checked(plain, dict)
        for name in required:
            if name not in plain:
                raise KeyError(f"{kind.__name__} without {name}")
        # A name that is not known raises KeyError too.
        return kind(**{name: forms[name].from_plain(each) for name, each in plain.items()})

    return Form(to_plain, from_plain)
