"""A histogram of durations that costs next to nothing to feed.

Observations are gathered as they come and put into buckets a thousand at a time, by one sort:
that costs a third of finding the bucket of each one in turn.
"""

from __future__ import annotations

from bisect import bisect_right

_GATHERED_MAX = 1024
# From one microsecond upwards, four buckets to each doubling, up to about an hour.
_EDGES_S = tuple(2 ** (step / 4) / 1_000_000 for step in range(4 * 32))


class LatencyHistogram:
    """Quantiles are the upper bounds of their buckets: at most a fifth above the truth."""

    __slots__ = ("_count", "_counts", "_gathered", "_max_s", "_sum_s")

    def __init__(self) -> None:
        self._gathered: list[float] = []
        self._counts = [0] * (len(_EDGES_S) + 1)
        self._count = 0
        self._sum_s = 0.0
        self._max_s = 0.0

    def observe(self, seconds: float) -> None:
        gathered = self._gathered
        gathered.append(seconds)
        if len(gathered) >= _GATHERED_MAX:
            self._sort_in()

    @property
    def count(self) -> int:
        return self._count + len(self._gathered)

    @property
    def sum_s(self) -> float:
        return self._sum_s + sum(self._gathered)

    @property
    def max_s(self) -> float:
        return max(self._max_s, max(self._gathered, default=0.0))

    def quantile(self, share: float) -> float:
        """Seconds; 0 when nothing was observed."""
        self._sort_in()
        wanted = share * self._count
        seen = 0
        for index, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(_EDGES_S[index], self._max_s) if index < len(_EDGES_S) else self._max_s
        return 0.0

    def _sort_in(self) -> None:
        gathered = self._gathered
        if not gathered:
            return
        gathered.sort()
        self._count += len(gathered)
        self._sum_s += sum(gathered)
        self._max_s = max(self._max_s, gathered[-1])
        below = 0
        index = bisect_right(_EDGES_S, gathered[0])
        while below < len(gathered):
            # The bucket at `index` holds what lies below its edge; the last one has none.
            last = index >= len(_EDGES_S)
            end = len(gathered) if last else bisect_right(gathered, _EDGES_S[index], below)
            self._counts[index] += end - below
            below = end
            index += 1
        gathered.clear()
