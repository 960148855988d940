"""Quantiles of latencies, within a fifth, whatever comes."""

from hypothesis import given
from hypothesis import strategies as st

from broker.observe.histogram import LatencyHistogram

_seconds = st.floats(0, 3000, allow_nan=False)


def filled(values: list[float]) -> LatencyHistogram:
    histogram = LatencyHistogram()
    for value in values:
        histogram.observe(value)
    return histogram


@given(st.lists(_seconds, min_size=1, max_size=3000), st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_never_below_the_truth_and_at_most_a_fifth_above(
    values: list[float], share: float
) -> None:
    histogram = filled(values)
    rank = max(1, -int(-share * len(values) // 1))
    truth = sorted(values)[rank - 1]
    assert truth <= histogram.quantile(share) * (1 + 1e-9)
    assert histogram.quantile(share) <= max(truth * 1.2, 1.2e-6)


@given(st.lists(_seconds, max_size=3000))
def test_count_and_sum_and_maximum_are_exact(values: list[float]) -> None:
    histogram = filled(values)
    assert histogram.count == len(values)
    assert abs(histogram.sum_s - sum(values)) <= 1e-6 * (1 + sum(values))
    assert histogram.max_s == max(values, default=0.0)


def test_nothing_observed_is_zero() -> None:
    assert LatencyHistogram().quantile(0.99) == 0.0


def test_looking_does_not_change_what_is_seen() -> None:
    histogram = filled([0.001, 0.002, 0.1])
    before = [histogram.quantile(share) for share in (0.3, 0.6, 1)]
    histogram.quantile(0.5)
    assert [histogram.quantile(share) for share in (0.3, 0.6, 1)] == before
    assert histogram.count == 3
