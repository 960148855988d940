"""Tasks of an ingest take about as long as each other."""

from __future__ import annotations

import pytest

from pipeline.reading.cutting import ELEMENT_GROUPS_PER_TASK, groups_per_task


@pytest.mark.parametrize(
    ("groups", "at_once", "expected"),
    [(0, 2, 1), (7, 2, 1), (16, 2, 2), (133, 2, ELEMENT_GROUPS_PER_TASK), (133, 16, 2)],
)
def test_long_histories_have_several_tasks_for_each_core(
    groups: int, at_once: int, expected: int
) -> None:
    assert groups_per_task(groups, at_once) == expected
