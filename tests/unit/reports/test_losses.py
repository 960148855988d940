"""Which records a partition lost, and by which change of leader: from the history alone."""

from collections.abc import Sequence

import pytest

from harness.history.history import History
from reports.calls import Calls
from reports.causes import Loss
from reports.faults import Band
from reports.leading import Change, Leading, Reign
from reports.losses import LostRecords, change_of, lost_records
from tests.unit.reports.stored_runs import KEY, Rows

FIRST, SECOND, THIRD = (
    Reign("n1", 0, 0, 10_000_000_000),
    Reign("n2", 1, 10_000_000_000, 20_000_000_000),
    Reign("n3", 2, 20_000_000_000, 30_000_000_000),
)
EARLY, LATE = Leading({KEY: (FIRST, SECOND, THIRD)}).changes(KEY)
CUT = Band("partition 1", "partition [n1] | [n2,n3]", 8_000_000_000, 14_000_000_000,
           sides=[["n1"], ["n2", "n3"]])  # fmt: skip


def lost(
    acks: Sequence[tuple[float, int]],
    read: Sequence[int] = (),
    unseen: int = -1,
    bands: Sequence[Band] = (CUT,),
    changes: Sequence[Change] = (EARLY, LATE),
) -> LostRecords:
    """`acks`: when each offset was acknowledged, in seconds; `read`: the offsets of a last poll."""
    rows = Rows()
    for number, (at_s, offset) in enumerate(sorted(acks)):
        rows.send(1000 * at_s - 4, number, number, offset)
    if read:
        rows.poll(29_000, 99, [[offset, 0] for offset in read])
    return lost_records(Calls(History.of(rows.ops)), KEY, changes, bands, unseen)


def told(found: LostRecords) -> list[tuple[Change, int, int, int]]:
    return [(each.change, each.count, each.low, each.high) for each in found.by_change()]


def test_of_two_records_at_one_offset_the_first_is_gone() -> None:
    found = lost([(1, 0), (9, 1), (12, 1), (13, 2)])
    assert told(found) == [(EARLY, 1, 1, 1)]
    assert found.change_of(1, 1, 0) is EARLY
    assert found.change_of(2, 2, 0) is None


def test_what_no_poll_returned_counts_if_a_checker_counts_the_same() -> None:
    acks = [(1, 0), (9, 1), (9.5, 2), (12, 1)]
    assert told(lost(acks, read=[0, 1], unseen=2)) == [(EARLY, 2, 1, 2)]
    assert lost(acks, read=[0, 1], unseen=2).is_all
    # A run that was not read back to its end: nobody has looked for offset 2.
    partly = lost(acks, read=[0, 1])
    assert (told(partly), partly.is_all) == ([(EARLY, 1, 1, 1)], False)


def test_a_leader_that_is_cut_off_loses_what_it_acknowledges_after_the_election() -> None:
    """Offsets 1 to 3 by n1, which was replaced at 10 s; n2 appends its own 2 after 20 s."""
    acks = [(1, 0), (11, 1), (12, 2), (13, 3), (19, 1), (21, 2), (22, 3)]
    found = lost(acks)
    assert told(found) == [(EARLY, 3, 1, 3)]
    # If no fault is known, the record before them tells: 1 was replaced before the late change.
    followed = lost([(1, 0), (9, 1), (12, 2), (13, 3), (15, 1), (21, 2), (22, 3)], bands=())
    assert told(followed) == [(EARLY, 3, 1, 3)]
    # Offsets 2 and 3 alone could be of either log.
    alone = lost([(1, 0), (12, 2), (13, 3), (21, 2), (22, 3)], bands=())
    assert told(alone) == [(LATE, 2, 2, 3)]


def test_two_logs_that_grow_at_once_are_told_apart_by_time() -> None:
    """n1 acknowledges 1 to 3 until 12 s, n2 its own 1 to 3 from 16 s; both are lost."""
    acks = [(10.5, 1), (11, 2), (12, 3), (16, 1), (17, 2), (18, 3), (25, 1), (26, 2), (27, 3)]
    struck = Band("kill 1", "kill n2", 19_000_000_000, 21_000_000_000, ["n2"], kind="kill")
    found = lost([(1, 0), *acks], bands=(CUT, struck))
    assert told(found) == [(EARLY, 3, 1, 3), (LATE, 3, 1, 3)]


def test_the_first_of_several_offsets_decides_and_else_the_moment() -> None:
    found = lost([(1, 0), (9, 1), (12, 1), (19, 2), (25, 2)])
    assert found.change_of(1, 2, 0) is EARLY
    assert found.change_of(-1, -1, 19_000_000_000) is LATE
    assert found.change_of(-1, -1, 5) is None


def test_registers_of_one_partition_share_its_offsets() -> None:
    rows = Rows()
    for ms, process, key in ((9_000, 0, f"{KEY}/r0"), (12_000, 1, f"{KEY}/r1")):
        rows.row(ms, process, "invoke", "put", [["put", key, process]])
        rows.row(ms + 4, process, "ok", "put", [["put", key, [7, process]]])
    found = lost_records(Calls(History.of(rows.ops)), KEY, [EARLY, LATE], [CUT], -1)
    assert found.by_change() == [Loss(EARLY, 1, 7, 7, is_all=False)]


def test_without_a_change_of_leader_nothing_is_told_of_it() -> None:
    found = lost([(1, 0), (2, 0)], changes=())
    assert (found.by_change(), found.change_of(0, 0, 0)) == ([], None)


@pytest.mark.parametrize(
    ("since_s", "until_s", "bands", "expected"),
    [
        (9.0, None, [CUT], EARLY),
        (9.0, None, [], EARLY),
        # It was acknowledged after the election of the successor, by the leader that is cut off.
        (12.0, None, [CUT], EARLY),
        (12.0, None, [], LATE),
        # By then another record was acknowledged in its place.
        (12.0, 15.0, [], EARLY),
        (19.0, 20.5, [], LATE),
        (25.0, None, [], LATE),
    ],
)
def test_the_change_of_leader_that_lost_a_record(
    since_s: float, until_s: float | None, bands: list[Band], expected: Change
) -> None:
    until = {} if until_s is None else {"until_ns": int(until_s * 1e9)}
    assert change_of([EARLY, LATE], bands, int(since_s * 1e9), **until) is expected
    assert change_of([], bands, int(since_s * 1e9), **until) is None
