"""Values as small numbers, one for each pair of a key and a value, so that tables can be arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.arrays import Bools, Ints32, Ints64
from checkers.columns import Elements
from checkers.kernels.rows import claim, high_range, low_widths, number_densely

_SPARE = 1 << 16
_WASTE = 4
"""A table may have so many places for each value before sorting is the better way."""


@dataclass(frozen=True, slots=True)
class Numbering:
    number: Ints32
    """Of each element's value under its key; -1 where there is none."""
    owner: Ints32
    """The key of each number; -1 for a number that no value has."""
    strays: Ints64
    """For the last numbers, those of values that several keys have, the one under the first key."""


def numbered(elements: Elements, wanted: Bools) -> Numbering:
    """Numbers are in the order of values where those are integers close together, as ours are:
    the producer in the upper half, a count in the lower."""
    number, count = _codes(elements, wanted)
    owner = np.full(count, -1, np.int32)
    strays = np.empty(0, np.int64)
    if claim(elements.key, number, owner):
        owner, strays = _tell_strays_apart(elements.key, number, owner)
    return Numbering(number, owner, strays)


def room_for(width: Ints64, count: int) -> Ints64 | None:
    """Where a table of so many values for each upper half would not be too wide: that table."""
    return width if int(width.sum()) <= _WASTE * count + _SPARE else None


def _codes(elements: Elements, wanted: Bools) -> tuple[Ints32, int]:
    if elements.boxed.any():
        plain = wanted & ~elements.boxed
        number, count = _plain_codes(elements.value, plain)
        boxes = wanted & elements.boxed
        number[boxes] = count + elements.value[boxes]
        return number, count + (int(elements.value[boxes].max()) + 1 if boxes.any() else 0)
    return _plain_codes(elements.value, wanted)


def _plain_codes(value: Ints64, wanted: Bools) -> tuple[Ints32, int]:
    number = np.full(value.size, -1, np.int32)
    lowest, highest, count = high_range(wanted, value)
    least, greatest = int(lowest), int(highest)
    if count == 0:
        return number, 0
    room = _WASTE * count + _SPARE
    if greatest - least < room:
        width = np.zeros(greatest - least + 1, np.int64)
        low_widths(wanted, value, least, width)
        if width.sum() <= room:
            number_densely(wanted, value, least, np.cumsum(width) - width, number)
            return number, int(width.sum())
    values, inverse = np.unique(value[wanted], return_inverse=True)
    number[wanted] = inverse
    return number, values.size


def _tell_strays_apart(key: Ints32, number: Ints32, owner: Ints32) -> tuple[Ints32, Ints64]:
    """Values that several keys have, a number for each."""
    strays = np.flatnonzero(number < -1)
    codes = -2 - number[strays].astype(np.int64)
    keys = key[strays].astype(np.int64)
    pairs, inverse = np.unique(keys * owner.size + codes, return_inverse=True)
    number[strays] = owner.size + inverse
    owners = np.concatenate([owner, (pairs // owner.size).astype(np.int32)])
    return owners, pairs % owner.size
