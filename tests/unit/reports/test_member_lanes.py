"""Lanes of members under the time axis: labels with room, signs, and never too many shapes."""

from itertools import pairwise
from pathlib import Path

from reports.html import report
from reports.lanes import width_of
from reports.material import load
from reports.member_lanes import LANES_MAX, GroupLanes, Lane, group_lanes
from reports.overview import overview
from reports.ownership import Group, Life, Member, Owned
from reports.strip import WIDTH, Scale
from tests.unit.reports.group_runs import busy_run
from tests.unit.reports.stored_runs import HOSTILE

SECOND = 10**9


def lanes(run: Path) -> dict[str, Lane]:
    drawn = overview(load(run), [])
    assert drawn is not None
    assert drawn.height >= drawn.groups[-1].members[-1].y + 26
    heads = {group.head.name: group.head for group in drawn.groups}
    return heads | {lane.name.strip(): lane for group in drawn.groups for lane in group.members}


def test_a_lane_says_who_owned_what_in_which_generation(tmp_path: Path) -> None:
    found = lanes(busy_run(tmp_path))
    (bar,) = found["c3"].bars
    assert bar.told == ("c3 owns orders 16-23 since generation 1, 0.90 s to 20.00 s; the run ended")
    assert [each.text for each in found["c3"].labels] == ["orders 16-23"]
    assert "since member epoch 3" in found["c9"].bars[0].told
    assert found["c2 static"].summary.startswith("c2 of group alpha, static as alpha-1, a member 2")
    # c7 is a member from the beginning and owns nothing until c1 is dead.
    assert found["c7"].lives[0][0] < found["c1"].signs[1].x < found["c7"].bars[0].x
    assert [each.kind for each in found["c1"].signs] == ["joined", "killed", "joined"]
    assert [each.text for each in found["c1"].labels] == ["orders 0-7", "killed"]
    nobody = [each.told for each in found["alpha"].bars]
    assert "nobody in group alpha owns orders 0-7, 5.00 s to 6.00 s" in nobody


def test_two_owners_are_guilty_in_both_lanes_and_one_thrown_out_is_stale_in_its_own(
    tmp_path: Path,
) -> None:
    found = lanes(busy_run(tmp_path))
    told = "two owners of orders 16-17 in generation 1: c3 and c4, 12.00 s to 13.50 s"
    for client in ("c3", "c4"):
        (over,) = found[client].over
        assert (over.kind, over.told) == ("guilty", told)
    (stale,) = found["c8"].over
    assert stale.kind == "stale"
    assert stale.told.startswith("c8 holds orders 0, 5, 10,")
    assert found["c10"].over == ()
    assert [each.kind for each in found["c8"].signs] == ["joined", "refused", "lost"]
    assert "STALE_MEMBER_EPOCH" in found["c8"].signs[1].told


def test_labels_have_room_and_do_not_lie_on_each_other(tmp_path: Path) -> None:
    for lane in lanes(busy_run(tmp_path)).values():
        spans = sorted((each.x, each.x + width_of(each.text)) for each in lane.labels)
        assert all(one[1] <= other[0] for one, other in pairwise(spans)), lane.name
        assert all(end <= WIDTH for _, end in spans)


def drawn(groups: list[Group], end_s: int) -> tuple[GroupLanes, ...]:
    found, _ = group_lanes(groups, Scale(0, end_s * SECOND), 0)
    return found


def test_a_lane_stays_small_however_often_ownership_changes() -> None:
    restless = Member("c1")
    for at in range(20_000):
        begin_ns, end_ns = at * SECOND // 5, (at + 1) * SECOND // 5 - 10
        restless.lives.append(Life(begin_ns, end_ns, 0))
        restless.owned.append(Owned("orders-0", at, begin_ns + SECOND // 20, end_ns, 0, at))
    (group,) = drawn([Group("g", members={"c1": restless})], 4000)
    for lane in (group.head, *group.members):
        assert 100 < len(lane.bars) < 400
    assert "in short order" in group.members[0].bars[5].told


def test_members_without_room_are_counted() -> None:
    members = {f"c{number}": Member(f"c{number}") for number in range(1, 41)}
    for number, member in enumerate(members.values()):
        member.owned += [Owned("orders-0", 1, 0, SECOND, number, 0)] * number
    (group,) = drawn([Group("g", members=members)], 10)
    assert (len(group.members), group.left_out) == (LANES_MAX, 40 - LANES_MAX)
    assert group.members[0].name.strip() == f"c{40 - LANES_MAX + 1}"


def test_names_of_groups_and_partitions_are_text(tmp_path: Path) -> None:
    run = busy_run(tmp_path, HOSTILE[0])
    text = report(run)
    assert HOSTILE[0] not in text
    assert "window.hacked" in text
