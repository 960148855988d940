"""Which of two systems a comparison calls ahead."""

from __future__ import annotations

import pytest

from bench.compared import KAFKA, OURS, Comparison, table


def comparison(ours: list[float], theirs: list[float], *, higher_is_better: bool) -> Comparison:
    return Comparison(
        "row", "s", higher_is_better=higher_is_better, takings={OURS: ours, KAFKA: theirs}
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "higher_is_better", "standing"),
    [
        ([1.0, 1.1], [2.0, 2.1], False, "ahead"),
        ([1.0, 1.1], [2.0, 2.1], True, "behind"),
        ([2.0, 2.1], [1.0, 1.1], False, "behind"),
        ([1.0, 3.0], [2.0, 2.9], False, "level"),
        ([-0.5], [0.5], False, "ahead"),
    ],
)
def test_the_better_median_is_ahead_unless_the_spread_covers_the_difference(
    ours: list[float], theirs: list[float], higher_is_better: bool, standing: str
) -> None:
    row = comparison(ours, theirs, higher_is_better=higher_is_better)
    assert row.standing() == standing
    assert row.is_behind == (standing == "behind")


def test_a_row_that_explains_another_is_never_behind() -> None:
    row = Comparison("row", "s", judged=False, takings={OURS: [9.0], KAFKA: [1.0]})
    assert not row.is_behind
    assert "BEHIND" not in table([row])


def test_a_row_of_one_system_is_printed_without_a_standing() -> None:
    row = comparison([1.0], [], higher_is_better=False)
    assert not row.is_behind
    assert "1" in table([row]).splitlines()[1]
