"""The whole run on one time axis, and labels that do not lie on each other."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from reports.causes import Loss
from reports.faults import Band
from reports.lanes import lanes_of, width_of
from reports.material import load
from reports.overview import overview
from reports.placing import placed_causes
from reports.spacetime import spacetime
from reports.strip import LEFT, WIDTH, Scale
from tests.unit.reports.stored_runs import KEY, Rows, lost_write, stored
from tests.unit.reports.test_pieces import NODES, row, traced


def test_labels_go_to_the_first_line_with_room() -> None:
    assert lanes_of([(0, 50), (10, 40), (60, 90), (45, 55)]) == [0, 1, 0, 2]
    assert lanes_of([(20, 30), (0, 10)]) == [0, 0]
    assert lanes_of([]) == []


@pytest.mark.parametrize("gap_ns", [1, 10_000_000, 300_000_000])
def test_no_label_of_a_fault_lies_on_another_or_sticks_out(gap_ns: int) -> None:
    bands = [
        Band(f"kill {number}", f"kill n1,n2,n3 for the {number}th time", number * gap_ns, 10**9)
        for number in range(6)
    ]
    marks = Scale(0, 10**9).bands(bands)
    for one, other in combinations(marks, 2):
        if one.label_lane == other.label_lane:
            first, last = sorted((one, other), key=lambda each: each.label_x)
            assert first.label_x + width_of(first.label) < last.label_x
    assert all(each.label_x >= LEFT for each in marks)
    assert all(each.label_x + width_of(each.label) <= WIDTH + 0.1 for each in marks)


def test_the_whole_run_shows_faults_leaders_and_where_causes_lie(tmp_path: Path) -> None:
    material = load(lost_write(tmp_path))
    drawn = overview(material, placed_causes(material).causes)
    assert drawn is not None
    assert [each.title for each in drawn.faults] == ["kill n1, 0.7 s to 1.6 s: n1 is gone"]
    assert [name for name, _ in drawn.rows] == ["faults", KEY]
    assert [each.label for each in drawn.reigns] == ["n1", "n2"]
    (moment,) = drawn.moments
    # Without causes, leaders are shown where they changed.
    calm = overview(material, [])
    assert calm is not None
    assert (calm.rows, calm.reigns, calm.moments) == (drawn.rows, drawn.reigns, ())
    # The election, where the second reign begins.
    assert (moment.label, moment.x) == ("↑ 1", drawn.reigns[1].x)


def test_a_long_name_has_room_and_causes_side_by_side_share_a_mark(tmp_path: Path) -> None:
    key = "a-register-with-a-name-3"
    material = load(lost_write(tmp_path, key=key))
    (cause,) = placed_causes(material).causes
    assert cause.change is not None
    later = replace(cause.change, after=replace(cause.change.after, begin_ns=2_500_000_000))
    near = replace(cause.change, after=replace(cause.change.after, begin_ns=1_101_000_000))
    found = [cause, replace(cause, change=near, more=(Loss(later, 1, 0, 0),))]
    drawn = overview(material, found)
    assert drawn is not None
    assert [name for name, _ in drawn.rows] == ["faults", key]
    assert drawn.reigns[0].x >= width_of(key)
    assert [each.label for each in drawn.moments] == ["↑ 1, 2", "↑ 2"]


def test_a_run_without_time_has_no_axis(tmp_path: Path) -> None:
    assert overview(load(stored(tmp_path, Rows(), {})), []) is None


def test_messages_carry_their_kind_and_all_their_fields() -> None:
    wire = {"connection": "n1>n2:9092#3", "correlation_id": 7}
    trace = traced([
        row(1, "send", 1100, node="n1", api="Vote", **wire),
        row(2, "deliver", 1103, node="n2", cause=1, api="Vote", **wire),
        row(3, "send", 1150, node="n2", api="Vote", **wire),
        row(4, "drop", 1152, node="n1", cause=3, api="Vote", detail="a cut", **wire),
        row(5, "send", 1200, node="n3", api="Fetch"),
        row(6, "deliver", 1203, node="n1", cause=5, api="Fetch"),
    ])  # fmt: skip
    drawn = spacetime(trace, NODES, [], 150_000_000)
    assert drawn is not None
    assert [(each.label, each.colour, each.is_reply) for each in drawn.arrows] == [
        ("Vote", "election", False),
        ("Vote reply", "election", True),
        ("Fetch", "replication", False),
    ]
    assert drawn.arrows[1].told == (
        "Vote reply n2 → n1, sent 0.150 s, lost: a cut, correlation id 7, connection n1>n2:9092#3"
    )
    assert drawn.kinds == (("election", "Vote (2)"), ("replication", "Fetch (1)"))


def test_a_label_without_room_is_left_to_hovering() -> None:
    rows = []
    for number in range(5):
        rows += [
            row(2 * number + 1, "send", 1100 + number / 100, node="n1", api="Fetch"),
            row(2 * number + 2, "deliver", 1103 + number / 100, node="n2", cause=2 * number + 1),
        ]
    drawn = spacetime(
        traced(sorted(rows, key=lambda each: each["time_ns"])), NODES, [], 100_000_000
    )
    assert drawn is not None
    assert [each.label for each in drawn.arrows] == ["Fetch", "", "", "", ""]
    assert all("Fetch n1 → n2" in each.told for each in drawn.arrows)
