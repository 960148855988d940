"""Labels on one time axis, in as many lines as it takes so that none lies on another."""

from __future__ import annotations

from collections.abc import Sequence

CHARACTER = 7.3
"""Width of a character of the pages' pictures, in their units."""
_BETWEEN = 8.0


def width_of(label: str) -> float:
    return CHARACTER * len(label)


def lanes_of(extents: Sequence[tuple[float, float]]) -> list[int]:
    """The line of each (begin, end): the first in which there is room. report.js does the same."""
    found = [0] * len(extents)
    ends: list[float] = []
    for number in sorted(range(len(extents)), key=lambda each: extents[each][0]):
        begin, end = extents[number]
        lane = next((at for at, taken in enumerate(ends) if taken + _BETWEEN <= begin), len(ends))
        ends[lane : lane + 1] = [end]
        found[number] = lane
    return found
