"""Lists of micro-operations taken apart: send, poll, append, r, w, put, get, pause, abort.

Each function adds the elements of one micro-operation and says whether it has the shape at all; a
single one that has not leaves the whole value as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.history import kinds
from harness.history.element import LISTS, Element, is_key, is_offset, is_pair

_Take = Callable[[list[Element], int, Any], bool]


def micro_ops(value: Any) -> list[Element] | None:
    if not isinstance(value, LISTS):
        return None
    elements: list[Element] = []
    for position, micro_op in enumerate(value):
        if not isinstance(micro_op, LISTS) or not micro_op or type(micro_op[0]) is not str:
            return None
        take = _BY_NAME.get(micro_op[0])
        if take is None or not take(elements, position, micro_op):
            return None
    return elements


def _poll(elements: list[Element], position: int, micro_op: Any) -> bool:
    if len(micro_op) == 1:
        elements.append(Element(kinds.POLL, position))
        return True
    if len(micro_op) != 2 or not isinstance(micro_op[1], dict):
        return False
    if not micro_op[1]:
        elements.append(Element(kinds.POLLED_NOTHING, position))
    for key, records in micro_op[1].items():
        if not is_key(key) or not isinstance(records, LISTS):
            return False
        if not records:
            elements.append(Element(kinds.POLLED_EMPTY, position, key))
        for record in records:
            if not is_pair(record):
                return False
            elements.append(Element(kinds.RECORD, position, key, record[0], record[1]))
    return True


def _read(elements: list[Element], position: int, micro_op: Any) -> bool:
    if len(micro_op) != 3 or not is_key(micro_op[1]):
        return False
    _, key, value = micro_op
    if not isinstance(value, LISTS):
        elements.append(Element(kinds.READ, position, key, None, value))
    elif not value:
        elements.append(Element(kinds.READ_EMPTY, position, key))
    else:
        for one in value:
            elements.append(Element(kinds.READ_ELEMENT, position, key, None, one))
    return True


def _plain(kind: int) -> _Take:
    """[name, key, value]"""

    def take(elements: list[Element], position: int, micro_op: Any) -> bool:
        if len(micro_op) != 3 or not is_key(micro_op[1]):
            return False
        elements.append(Element(kind, position, micro_op[1], None, micro_op[2]))
        return True

    return take


def _placed(before: int, after: int) -> _Take:
    """[name, key, value], and with its offset [name, key, [offset, value]]"""

    def take(elements: list[Element], position: int, micro_op: Any) -> bool:
        if len(micro_op) != 3 or not is_key(micro_op[1]):
            return False
        _, key, value = micro_op
        if isinstance(value, LISTS) and len(value) == 2 and is_offset(value[0]):
            elements.append(Element(after, position, key, value[0], value[1]))
        else:
            elements.append(Element(before, position, key, None, value))
        return True

    return take


def _pause(elements: list[Element], position: int, micro_op: Any) -> bool:
    """["pause", ms]"""
    if len(micro_op) != 2:
        return False
    elements.append(Element(kinds.PAUSE, position, None, None, micro_op[1]))
    return True


def _abort(elements: list[Element], position: int, micro_op: Any) -> bool:
    if len(micro_op) != 1:
        return False
    elements.append(Element(kinds.ABORT, position))
    return True


_BY_NAME: dict[str, _Take] = {
    "send": _placed(kinds.SEND, kinds.SENT),
    "poll": _poll,
    "append": _plain(kinds.APPEND),
    "r": _read,
    "w": _plain(kinds.WRITE),
    "put": _placed(kinds.PUT, kinds.PUT_AT),
    "get": _placed(kinds.GET, kinds.GET_AT),
    "pause": _pause,
    "abort": _abort,
}
