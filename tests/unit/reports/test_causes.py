"""Findings grouped by cause: on data alone, then in words."""

from collections import Counter
from typing import Any

import pytest

from checkers.verdict import Anomaly
from reports.causes import Cause, Loss, Placed, Records, causes, records_of
from reports.faults import Band
from reports.leading import Leading, Reign
from reports.placing import fault_behind
from reports.stories import as_figures, said, story

KEY = "queue1-3"
FIRST, SECOND, THIRD = (
    Reign("n1", 0, 0, 13_400_000_000),
    Reign("n2", 1, 13_400_000_000, 20_000_000_000),
    Reign("n3", 2, 20_000_000_000, 30_000_000_000),
)
EARLY, LATE = Leading({KEY: (FIRST, SECOND, THIRD)}).changes(KEY)
CUT = Band(
    "partition 1",
    "partition [n1] | [n2,n3]",
    12_100_000_000,
    17_000_000_000,
    sides=[["n1"], ["n2", "n3"]],
)


def finding(type_: str, **witness: Any) -> Anomaly:
    return Anomaly(type=type_, ops=(), because=f"a {type_}", witness={"key": KEY, **witness})


def lost(offset: int, key: str = KEY) -> Anomaly:
    return finding("lost-write", key=key, offset=offset, value=1000 + offset)


def unseen(count: int, *values: int, key: str = KEY) -> Anomaly:
    return finding("unseen", key=key, unseen=count, messages=list(values))


def skip(before: int, after: int) -> Anomaly:
    return finding("poll-skip", offsets=[before, after], values=[7, 8], delta=after - before)


def grouped(*anomalies: Anomaly, more: int = 0) -> list[Cause]:
    """`more`: so many lost-writes were found that are not kept."""
    counts = Counter(each.type for each in anomalies)
    counts["lost-write"] += more
    return causes([Placed(each) for each in anomalies], counts)


def test_one_loss_that_several_checkers_found_is_one_cause() -> None:
    found = [*(lost(offset) for offset in range(4, 20)), unseen(391, 1004, 1005), skip(3, 395)]
    (cause,) = grouped(*found, more=375)
    assert cause.records is not None
    assert (cause.records.key, cause.records.low, cause.records.high) == (KEY, 4, 394)
    assert (cause.lost, cause.lost_from, cause.is_all) == (391, 4, True)
    assert cause.count == 391 + 1 + 1
    assert cause.types == ("lost-write", "unseen", "poll-skip")


def test_records_of_other_partitions_and_far_offsets_are_other_causes() -> None:
    found = grouped(lost(4), lost(5), lost(90), lost(4, key="queue1-0"))
    assert [[each.anomaly.witness["offset"] for each in cause.findings] for cause in found] == [
        [4, 5],
        [90],
        [4],
    ]


def test_a_finding_in_between_joins_what_was_apart() -> None:
    (cause,) = grouped(lost(4), lost(90), skip(3, 91))
    assert len(cause.findings) == 3


def test_the_same_values_are_the_same_records_where_no_offset_is_known() -> None:
    assert len(grouped(lost(4), unseen(1, 1004))) == 1
    assert len(grouped(lost(4), unseen(1, 4004))) == 2


@pytest.mark.parametrize("offset", [90, 5])
def test_two_changes_of_leader_are_two_causes_however_close_the_records_are(offset: int) -> None:
    placed = [
        Placed(lost(4), change=EARLY),
        Placed(lost(offset), change=LATE),
        Placed(finding("duplicate", offsets=[60, 70], value=1), change=EARLY),
        Placed(unseen(9, 1004, 1000 + offset)),
    ]
    one, other = causes(placed, {"lost-write": 2, "unseen": 1, "duplicate": 1})
    assert (one.change, other.change) == (EARLY, LATE)
    assert one.types == ("lost-write", "unseen", "duplicate")
    # What the partition lost in all cannot be told apart by cause.
    assert (one.lost, other.lost) == (2, 1)


def test_findings_that_name_no_record_are_together_by_type() -> None:
    bare = [
        Anomaly(type="G1c", ops=(1,), because="a circle"),
        Anomaly(type="G1c", ops=(2,), because=""),
    ]
    cycles, kept = grouped(*bare, finding("commit-regression", group="g"))
    assert len(cycles.findings) == 2
    assert (cycles.records, kept.records, cycles.lost) == (None, None, 0)


def test_a_loss_is_counted_only_as_far_as_it_is_kept() -> None:
    (cause,) = grouped(lost(4), lost(5), more=70)
    assert (cause.lost, cause.is_all) == (2, False)
    (cause,) = grouped(lost(4), lost(5))
    assert (cause.lost, cause.is_all) == (2, True)


@pytest.mark.parametrize(
    ("anomaly", "expected"),
    [
        (lost(4), Records(KEY, 4, 4, frozenset({"1004"}))),
        (skip(3, 6), Records(KEY, 4, 5)),
        (finding("duplicate", offsets=[9, None], value={"b": 1, "a": [2]}),
         Records(KEY, 9, 9, frozenset({'{"a": [2], "b": 1}'}))),
        (Anomaly(type="torn-transaction", ops=(), because="",
                 witness={"keys": ["x-0", "x-1"], "shown": 1, "missing": 2}),
         Records("x-1", -1, -1, frozenset({"2"}))),
        (finding("lost-put", key=f"{KEY}/r2", put=[50, 96]),
         Records(KEY, 50, 50, frozenset({"96"}))),
        (finding("hanging-transaction", stable=1), None),
        (Anomaly(type="G1c", ops=(), because=""), None),
    ],
)  # fmt: skip
def test_a_witness_names_its_records(anomaly: Anomaly, expected: Records | None) -> None:
    assert records_of(anomaly) == expected


def test_the_fault_that_struck_the_leader_is_the_one_behind_a_change() -> None:
    elsewhere = Band("kill 1", "kill n3", 13_000_000_000, 14_000_000_000, ["n3"], kind="kill")
    assert fault_behind([CUT, elsewhere], 12_500_000_000, EARLY) is CUT
    assert fault_behind([elsewhere], 12_500_000_000, EARLY) is elsewhere
    assert fault_behind([CUT, elsewhere], 13_500_000_000, None) is elsewhere
    assert fault_behind([CUT], 1_000_000_000, None) is None


def test_a_story_names_the_leaders_the_fault_the_election_and_the_records() -> None:
    found = [*(lost(offset) for offset in range(4, 20)), unseen(391, 1004), skip(3, 395)]
    placed = [Placed(each, change=EARLY, fault=CUT) for each in found]
    (cause,) = causes(placed, {"lost-write": 391, "unseen": 391, "poll-skip": 1})
    assert story(cause) == (
        "n1 led queue1-3 until it was cut off at 12.1 s; n2 was elected at 13.4 s with a shorter "
        "log: 391 acknowledged records of queue1-3 at offsets 4 to 394 are gone, found by "
        "lost-write, unseen and poll-skip"
    )


def test_a_story_without_a_history_tells_what_the_witnesses_tell() -> None:
    (cause,) = grouped(lost(4), unseen(12, 1004), more=3)
    # The finding that was kept is not of the first record that is gone.
    assert story(cause) == (
        "12 acknowledged records of queue1-3, among them offset 4, are gone, found by lost-write "
        "and unseen"
    )
    (cause,) = grouped(lost(4), lost(5), more=3)
    assert story(cause).startswith("at least 2 acknowledged records of queue1-3, among them offs")
    (cause,) = grouped(lost(4), lost(5), lost(7), skip(3, 8))
    assert story(cause).startswith("3 acknowledged records of queue1-3 between offsets 4 and 7 are")
    (cause,) = grouped(lost(4))
    assert story(cause) == "lost-write: a lost-write"
    (cause,) = grouped(skip(3, 6), skip(4, 7))
    assert story(cause) == "poll-skip: a poll-skip (1 more about the same records: poll-skip)"
    bare = [Anomaly(type="G1c", ops=(op,), because="a circle") for op in range(3)]
    (cause,) = causes([Placed(each) for each in bare], {"G1c": 40})
    assert story(cause) == "G1c: a circle (39 more of this kind)"


def test_a_loss_that_the_history_shows_is_counted_by_change_of_leader() -> None:
    placed = [Placed(lost(4), change=EARLY, fault=CUT), Placed(unseen(30, 1004), change=EARLY)]
    losses = [Loss(EARLY, 20, 2, 21), Loss(LATE, 10, 15, 24)]
    (cause,) = causes(placed, {"lost-write": 30, "unseen": 30}, losses)
    assert (cause.lost, cause.lost_from, cause.lost_to, cause.is_all) == (20, 2, 21, True)
    assert story(cause) == (
        "n1 led queue1-3 until it was cut off at 12.1 s; n2 was elected at 13.4 s with a shorter "
        "log: 20 acknowledged records of queue1-3 at offsets 2 to 21 are gone, found by lost-write "
        "and unseen; 10 more are gone since n3 was elected at 20.0 s"
    )
    # A cause of its own has the second one, where a finding of it was kept.
    placed.append(Placed(lost(15), change=LATE))
    one, other = causes(placed, {"lost-write": 30, "unseen": 30}, losses)
    assert (one.lost, one.more, other.lost, other.lost_from) == (20, (), 10, 15)


def test_a_loss_that_the_history_shows_in_part_is_a_lower_bound() -> None:
    placed = [Placed(lost(4), change=EARLY), Placed(lost(5), change=EARLY)]
    (cause,) = causes(placed, {"lost-write": 30}, [Loss(EARLY, 20, 2, 40, is_all=False)])
    assert (cause.lost, cause.is_all) == (20, False)
    (cause,) = causes(placed, {"lost-write": 30}, [Loss(EARLY, 1, 4, 4, is_all=False)])
    assert (cause.lost, cause.is_all) == (2, False)


def test_a_long_cycle_is_told_by_its_length() -> None:
    def circle(count: int) -> Anomaly:
        nodes = [*range(10, 10 + count), 10]
        return Anomaly(type="G0", ops=(), because="step by step", witness={"cycle": nodes})

    assert said(circle(4)) == "step by step"
    assert said(circle(31)) == (
        "31 transactions form a cycle: op 10 is before op 11, and so on to op 40, which is before "
        "op 10"
    )


def test_a_cause_is_stored_as_figures_with_its_sentence() -> None:
    placed = [Placed(lost(4), change=EARLY, fault=CUT), Placed(lost(5), change=EARLY, fault=CUT)]
    (cause,) = causes(placed, {"lost-write": 2})
    assert as_figures(cause) == {
        "sentence": story(cause),
        "types": ["lost-write"],
        "findings": 2,
        "partition": KEY,
        "lost": 2,
        "lost_is_all": True,
        "elected_ms": 13_400.0,
        "fault": "partition 1",
    }
