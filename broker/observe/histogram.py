"""A histogram of durations that costs next to nothing to feed: four buckets to each doubling."""

from __future__ import annotations

_UNIT_PER_S = 1_000_000
_BUCKETS = 4 * 48  # up to 2**48 microseconds, which is years


class LatencyHistogram:
    """Quantiles are the upper bounds of their buckets: at most a quarter above the truth."""

    __slots__ = ("_counts", "count", "max_s", "sum_s")

    def __init__(self) -> None:
        self._counts = [0] * _BUCKETS
        self.count = 0
        self.sum_s = 0.0
        self.max_s = 0.0

    def observe(self, seconds: float) -> None:
        micros = int(seconds * _UNIT_PER_S)
        # The bit length gives the doubling, the two bits behind the leading one the quarter.
        bits = micros.bit_length()
        if bits > 2:
            self._counts[(bits << 2) | ((micros >> (bits - 3)) & 3)] += 1
        else:
            self._counts[micros if micros > 0 else 0] += 1
        self.count += 1
        self.sum_s += seconds
        if seconds > self.max_s:
            self.max_s = seconds

    def quantile(self, share: float) -> float:
        """Seconds; 0 when nothing was observed."""
        wanted = share * self.count
        seen = 0
        for index, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(_upper_bound_s(index), self.max_s)
        return 0.0


def _upper_bound_s(index: int) -> float:
    if index < 4:
        return (index + 1) / _UNIT_PER_S
    bits, quarter = index >> 2, index & 3
    return float(((5 + quarter) << (bits - 3)) / _UNIT_PER_S)
