"""Elements put together again to the nested value that they came from. Their kinds say how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.history import kinds
from harness.history.element import Element

_PutTogether = Callable[[Sequence[Element]], Any]

_PLAIN = {
    kinds.SEND: "send",
    kinds.APPEND: "append",
    kinds.READ: "r",
    kinds.WRITE: "w",
    kinds.PUT: "put",
    kinds.GET: "get",
}
_PLACED = {kinds.SENT: "send", kinds.PUT_AT: "put", kinds.GET_AT: "get"}
_END_OFFSETS = {kinds.LOW: "low", kinds.HIGH: "high", kinds.STABLE: "stable"}


def nest(elements: Sequence[Element]) -> tuple[Any, dict[str, Any] | None]:
    """The value, and the further fields of the row."""
    extra = None
    if elements and elements[-1].kind == kinds.EXTRA:
        extra = elements[-1].value
        elements = elements[:-1]
    if not elements:
        return None, extra
    put_together: _PutTogether = _BY_FIRST.get(elements[0].kind, _micro_ops)
    return put_together(elements), extra


def _micro_ops(elements: Sequence[Element]) -> list[list[Any]]:
    nested: list[list[Any]] = []
    for element in elements:
        kind, position, key, offset, value = element
        if position == len(nested):
            nested.append(_begun(element))
        if kind == kinds.RECORD:
            nested[position][1].setdefault(key, []).append([offset, value])
        elif kind == kinds.POLLED_EMPTY:
            nested[position][1][key] = []
        elif kind == kinds.READ_ELEMENT:
            nested[position][2].append(value)
    return nested


def _begun(element: Element) -> list[Any]:
    """The micro-operation that this is the first element of, before its parts are added."""
    kind, _, key, offset, value = element
    if kind in _PLAIN:
        return [_PLAIN[kind], key, value]
    if kind in _PLACED:
        return [_PLACED[kind], key, [offset, value]]
    if kind in (kinds.READ_EMPTY, kinds.READ_ELEMENT):
        return ["r", key, []]
    if kind == kinds.POLL:
        return ["poll"]
    if kind == kinds.PAUSE:
        return ["pause", value]
    if kind == kinds.ABORT:
        return ["abort"]
    return ["poll", {}]


def _whole(elements: Sequence[Element]) -> Any:
    return elements[0].value


def _keys(elements: Sequence[Element]) -> list[Any]:
    return [element.key for element in elements]


def _offsets(elements: Sequence[Element]) -> dict[Any, int | None]:
    return {element.key: element.offset for element in elements}


def _of_group(elements: Sequence[Element]) -> dict[str, Any]:
    first, rest = elements[0], elements[1:]
    nested: dict[str, Any] = {"group": first.value, "generation": first.offset}
    if rest and rest[0].kind == kinds.MEMBER:
        return nested | {"member": rest[0].value, "offsets": _offsets(rest[1:])}
    return nested | {"keys": _keys(rest)}


def _end_offsets(elements: Sequence[Element]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for element in elements:
        part = nested.setdefault(_END_OFFSETS[element.kind], {})
        if element.key is not None:
            part[element.key] = element.offset
    return nested


def _transform(elements: Sequence[Element]) -> dict[str, Any]:
    nested: dict[str, Any] = {"in": [], "out": []}
    for element in elements:
        if element.kind == kinds.IN:
            nested["in"].append([element.key, element.offset])
        else:
            nested["out"].append([element.key, [element.offset, element.value]])
    return nested


_BY_FIRST: dict[int, _PutTogether] = {
    kinds.VALUE: _whole,
    kinds.ASSIGN: _keys,
    kinds.ASSIGN_AT: _offsets,
    kinds.GROUP: _of_group,
    kinds.LOW: _end_offsets,
    kinds.HIGH: _end_offsets,
    kinds.STABLE: _end_offsets,
    kinds.IN: _transform,
    kinds.OUT: _transform,
}
