"""Two halves of one piece of work, side by side: kernels hold no lock while they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")

THREADS = 2
WORTH_IT = 1 << 20
"""Less than that is not worth a second thread."""


def at_once(works: Sequence[Callable[[], T]], *, size: int) -> list[T]:
    """What each of them returns, in their order. `size`: how many rows they have before them."""
    if size < WORTH_IT:
        return [work() for work in works]
    with ThreadPoolExecutor(THREADS) as pool:
        return [running.result() for running in [pool.submit(work) for work in works]]


def both(one: Callable[[], T], other: Callable[[], U], *, size: int) -> tuple[T, U]:
    """As at_once, of two that return different things."""
    if size < WORTH_IT:
        return one(), other()
    with ThreadPoolExecutor(THREADS) as pool:
        running = pool.submit(one)
        theirs = other()
        return running.result(), theirs


def in_halves(
    most: int, work: Callable[[int, int], T], *, size: int, middle: int | None = None
) -> list[T]:
    """`work` for all below `most`, by ranges: the numbers that each thread answers for alone. The
    `middle` is where half of the work is."""
    if size < WORTH_IT:
        return [work(0, most)]
    middle = most // 2 if middle is None else middle
    return at_once([lambda: work(0, middle), lambda: work(middle, most)], size=size)
