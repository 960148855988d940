"""Sorts the names of a wide request in slices."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from broker.api.request import ELEMENTS_AT_ONCE, Request


async def in_order(names: Iterable[str], request: Request[Any]) -> list[str]:
    """Each name once, sorted. Pauses between runs of names and while it merges them."""
    runs: list[list[str]] = [[]]
    for name in names:
        if len(runs[-1]) == ELEMENTS_AT_ONCE:
            runs[-1].sort()
            runs.append([])
        runs[-1].append(name)
        await request.pause()
    runs[-1].sort()
    ordered: list[str] = []
    for name, _ in groupby(heapq.merge(*runs)):
        ordered.append(name)
        await request.pause()
    return ordered
