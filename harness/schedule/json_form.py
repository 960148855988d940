"""Plain dataclasses as JSON objects and back, with errors for the one who wrote the file."""

from __future__ import annotations

import difflib
import json
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

_Form = TypeVar("_Form")


class FormError(ValueError):
    """What is wrong, where, and what to try."""


def write(value: Any) -> dict[str, Any]:
    """Only what differs from the default."""
    return {
        each.name: getattr(value, each.name)
        for each in fields(value)
        if each.default is MISSING or getattr(value, each.name) != each.default
    }


def read(form: type[_Form], data: Any, where: str) -> _Form:
    """`form` is a dataclass or a NamedTuple of numbers, texts, choices, lists of texts or pairs."""
    if is_dataclass(form):
        required = {each.name for each in fields(form) if not _has_default(each)}
    else:
        required = set(form._fields) - set(form._field_defaults)  # type: ignore[attr-defined]
    hints = get_type_hints(form)
    known = object_of(data, tuple(hints), where)
    for name in hints:
        if name in required and name not in known:
            raise FormError(_at(where, f"{name} is missing"))
    return form(**{name: _value(hints[name], known[name], _at(where, name)) for name in known})


def object_of(data: Any, known: Sequence[str], where: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise FormError(_at(where, f"{_shown(data)} is no object; put it in {{ }}"))
    for name in data:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise FormError(_at(where, f"unknown field {name!r}; {hint}"))
    return dict(data)


def text_of(document: Mapping[str, Any]) -> str:
    """JSON with one entry of each list to a line."""
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value:
            shown = "[\n" + ",\n".join(f"    {_plain(each)}" for each in value) + "\n  ]"
        elif isinstance(value, dict) and any(isinstance(each, list) for each in value.values()):
            inner = [
                f"    {_plain(key)}: [\n"
                + ",\n".join(f"      {_plain(each)}" for each in entries)
                + "\n    ]"
                for key, entries in value.items()
            ]
            shown = "{\n" + ",\n".join(inner) + "\n  }"
        else:
            shown = _plain(value)
        lines.append(f"  {_plain(name)}: {shown}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _has_default(each: Any) -> bool:
    return each.default is not MISSING or each.default_factory is not MISSING


def _at(where: str, what: str) -> str:
    return f"{where}: {what}" if where else what


def _shown(value: Any) -> str:
    text = _plain(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _value(hint: Any, value: Any, where: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        [hint] = [each for each in get_args(hint) if each is not type(None)]
        origin = get_origin(hint)
    if origin is Literal:
        if value not in get_args(hint):
            choices = ", ".join(get_args(hint))
            raise FormError(_at(where, f"{_shown(value)} is no choice; try one of {choices}"))
        return value
    if origin is tuple:
        return _texts(value, where) if get_args(hint)[0] is str else _pairs(value, where)
    if origin is not None:
        return object_of(value, tuple(value) if isinstance(value, Mapping) else (), where)
    return _scalar(hint, value, where)


def _scalar(hint: type, value: Any, where: str) -> Any:
    fits = {
        str: isinstance(value, str),
        bool: isinstance(value, bool),
        int: isinstance(value, int) and not isinstance(value, bool),
        float: isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value),
    }
    told = {str: "a string", bool: "true or false", int: "a whole number", float: "a number"}
    if not fits[hint]:
        raise FormError(_at(where, f"{_shown(value)} does not fit; it takes {told[hint]}"))
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise FormError(
            _at(where, f'{_shown(value)} does not fit; it takes names such as ["n1", "n2"]')
        )
    return tuple(value)


def _pairs(value: Any, where: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(end, str) for end in pair)
        for pair in value
    ):
        raise FormError(
            _at(where, f'{_shown(value)} does not fit; it takes pairs such as [["n1", "n2"]]')
        )
    return tuple((here, there) for here, there in value)
