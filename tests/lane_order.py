"""The order of a lane whose workers each receive one share of the tests: `--dist worksteal`.

pytest-xdist cuts the collected list into one share per worker, in order. A worker runs its share
from the front; a worker that has finished steals from the back of another one's. So what stands at
the front of a share starts at once and stays with its worker:

* Tests of third-party clients stand together at the front of the first share. They use one broker,
  one Java machine and one Node.js per process, which take 10 s of CPU to start for each worker that
  has at least one of these tests.
* Tests marked `long` stand at the front of the other shares. If one of them started last, the whole
  lane would wait for it.

Everything else keeps the order that pytest-randomly gave it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def share_sizes(count: int, workers: int) -> list[int]:
    """How many tests each worker receives at first, as xdist's worksteal scheduler divides them."""
    sizes = []
    for remaining in range(workers, 0, -1):
        sizes.append(count // remaining)
        count -= sizes[-1]
    return sizes


def in_shares(
    together: Sequence[Item], early: Sequence[Item], rest: Sequence[Item], workers: int
) -> list[Item]:
    """All tests in one list: `together` begins the first share, `early` begins the others in turn.

    With one worker, `early` follows `together`. If `together` is larger than the first share, the
    second worker continues with it.
    """
    fronts: list[list[Item]] = [[] for _ in range(workers)]
    fronts[0].extend(together)
    others = fronts[1:] or fronts
    for number, item in enumerate(early):
        others[number % len(others)].append(item)
    ordered: list[Item] = []
    left = list(rest)
    sizes = share_sizes(len(together) + len(early) + len(rest), workers)
    for front, size in zip(fronts, sizes, strict=True):
        filling = max(0, size - len(front))
        ordered += front + left[:filling]
        del left[:filling]
    return ordered + left
