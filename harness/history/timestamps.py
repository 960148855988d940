"""Timestamps of records, kept beside the value of an operation and not in it.

A row's `timestamps` has one entry for each micro-operation of its value: a number for a write, an
object `{key: [timestamp, ...]}` for a poll that returned records, null for everything else. In the
tables each element has its own, in an optional column. Values therefore have the same form with
and without timestamps, and readers that know nothing of them lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.history import kinds
from harness.history.element import INT64_MAX, Element
from harness.history.operations import WRITING_KINDS

_WRITES = frozenset(WRITING_KINDS)


def by_element(elements: Sequence[Element], timestamps: Any) -> list[int | None] | None:
    """One timestamp for each element of a value; None if `timestamps` has not the form above.

    The inverse of `by_micro_op`: whatever this accepts is restored exactly.
    """
    if not isinstance(timestamps, list):
        return None
    if elements and elements[-1].kind == kinds.EXTRA:
        elements = elements[:-1]
    found: list[int | None] = []
    for position, own in enumerate(timestamps):
        at = len(found)
        if at == len(elements) or elements[at].position != position:
            return None
        if elements[at].kind in _WRITES:
            if own is not None and not _are_timestamps((own,)):
                return None
            found.append(own)
        elif not _add_polled(found, elements, position, own):
            return None
    is_whole = len(found) == len(elements)
    return found if is_whole and any(each is not None for each in found) else None


def _add_polled(
    found: list[int | None], elements: Sequence[Element], position: int, own: Any
) -> bool:
    """Adds the timestamps of one poll, key by key. Other micro-operations have none."""
    if own is not None and not isinstance(own, dict):
        return False
    left, is_known = dict(own or {}), own is None
    while len(found) < len(elements) and elements[len(found)].position == position:
        kind, _, key, _, _ = elements[len(found)]
        if own is None or kind != kinds.RECORD:
            found.append(None)
            continue
        stamps = left.pop(key, None)
        if not isinstance(stamps, list) or not stamps or not _are_timestamps(stamps):
            return False
        # The records of a key are side by side: these are as many as it has, no more, no fewer.
        last = len(found) + len(stamps)
        if last > len(elements) or not _is_record(elements[last - 1], position, key):
            return False
        if last < len(elements) and _is_record(elements[last], position, key):
            return False
        found += stamps
        is_known = is_known or any(each is not None for each in stamps)
    return is_known and not left


def _is_record(element: Element, position: int, key: Any) -> bool:
    return element.kind == kinds.RECORD and element.position == position and element.key == key


def _are_timestamps(stamps: Sequence[Any]) -> bool:
    # Once for every record of a run, so whole lists are asked, and no record by itself.
    types = set(map(type, stamps))
    if types == {int}:
        return bool(min(stamps) >= 0 and max(stamps) <= INT64_MAX)
    known = [each for each in stamps if each is not None]
    return len(known) < len(stamps) and (not known or _are_timestamps(known))


def by_micro_op(elements: Iterable[Element], stamps: Iterable[int | None]) -> list[Any] | None:
    """The timestamps of an operation, by its micro-operations; None if no element has one."""
    found: list[Any] = []
    is_known = False
    for (kind, position, key, _, _), stamp in zip(elements, stamps, strict=True):
        if position == len(found):
            found.append(None)
        is_known = is_known or stamp is not None
        if kind == kinds.RECORD:
            found[position] = found[position] or {}
            found[position].setdefault(key, []).append(stamp)
        elif stamp is not None:
            found[position] = stamp
    return [_without_blanks(each) for each in found] if is_known else None


def _without_blanks(own: Any) -> Any:
    """Null for a poll of which no timestamp is known."""
    is_blank = isinstance(own, dict) and all(set(each) == {None} for each in own.values())
    return None if is_blank else own
