"""Who owned which partition when, from histories that are told step by step."""

from pathlib import Path
from random import Random

import pytest

from checkers.log.facts import LogFacts
from checkers.log.groups import two_owners
from checkers.stored import columns_of
from harness.history.history import History
from reports.calls import Calls
from reports.group_rows import group_rows, replacements
from reports.lean_history import load_history
from reports.ownership import Group, Owned, groups_of
from reports.partition_ranges import in_order, ranges, without_topic
from reports.stretches import owned_stretches, unowned_stretches
from tests.unit.reports.group_runs import CLIENTS, GroupRows, busy_groups, busy_run, keys
from tests.unit.reports.stored_runs import Rows

END_MS = 20_000


def read(rows: Rows, clients: int = 4) -> dict[str, Group]:
    calls = Calls(History.of(rows.ops))
    found = groups_of(
        list(group_rows(calls)), clients, END_MS * 10**6, replacements(calls, clients)
    )
    return {group.name: group for group in found}


def spans(owned: list[Owned]) -> list[tuple[str, int | None, float, float, str]]:
    return sorted(
        (each.key, each.generation, each.begin_ns / 1e6, each.end_ns / 1e6, each.end)
        for each in owned
    )


def test_a_partition_belongs_to_a_member_from_its_assignment_to_its_revocation() -> None:
    rows = GroupRows()
    rows.subscribe(0, 0)
    rows.assigned(100, 0, 1, keys(0, 1, 2))
    rows.subscribe(200, 1)
    rows.revoked(300, 0, 1, keys(2))
    rows.assigned(400, 1, 2, keys(2))
    rows.leave(900, 1)
    group = read(rows)["g"]
    assert spans(group.members["c1"].owned) == [
        ("orders-0", 1, 100, END_MS, "the run ended"),
        ("orders-1", 1, 100, END_MS, "the run ended"),
        ("orders-2", 1, 100, 300, "revoked"),
    ]
    assert spans(group.members["c2"].owned) == [("orders-2", 2, 400, 900, "left")]
    assert group.overlaps == []
    assert [each.keys for each in owned_stretches(group.members["c1"].owned)] == [
        ("orders-0", "orders-1", "orders-2"),
        ("orders-0", "orders-1"),
    ]
    # Before the first assignment nobody owns any of them, then one of them while it moves.
    nobody = [(each.begin_ns / 1e6, each.end_ns / 1e6, each.keys)
              for each in unowned_stretches(group)]  # fmt: skip
    assert nobody == [
        (0, 100, ("orders-0", "orders-1", "orders-2")),
        (300, 400, ("orders-2",)),
        (900, END_MS, ("orders-2",)),
    ]


def test_a_second_owner_in_one_generation_is_guilty_as_long_as_both_have_it() -> None:
    rows = GroupRows()
    for process in (0, 1):
        rows.subscribe(0, process)
    one = rows.assigned(100, 0, 1, keys(0, 1))
    other = rows.assigned(200, 1, 1, keys(1))
    rows.revoked(700, 1, 1, keys(1))
    (overlap,) = read(rows)["g"].overlaps
    assert (overlap.key, overlap.holder, overlap.taker) == ("orders-1", "c1", "c2")
    assert (overlap.begin_ns, overlap.end_ns) == (200 * 10**6, 700 * 10**6)
    assert (overlap.is_guilty, overlap.indices) == (True, (one, other))


def test_a_member_that_was_thrown_out_unawares_is_stale_and_not_guilty() -> None:
    rows = GroupRows()
    for process in (0, 1):
        rows.subscribe(0, process)
    rows.assigned(100, 0, 1, keys(0))
    rows.assigned(6000, 1, 2, keys(0))
    rows.commit(7000, 0, 1, {"orders-0": 5}, error="ILLEGAL_GENERATION: commit of orders-0")
    rows.lost(7100, 0, 1, keys(0))
    group = read(rows)["g"]
    (overlap,) = group.overlaps
    assert (overlap.is_guilty, overlap.generations) == (False, (1, 2))
    assert (overlap.begin_ns, overlap.end_ns) == (6000 * 10**6, 7100 * 10**6)
    assert [each.kind for each in group.members["c1"].events] == ["joined", "refused", "lost"]


def test_without_generations_nobody_is_accused() -> None:
    rows = GroupRows()
    for process in (0, 1):
        rows.subscribe(0, process)
        rows.assigned(100, process, None, keys(0))
    (overlap,) = read(rows)["g"].overlaps
    assert not overlap.is_guilty


def test_a_static_member_that_comes_back_is_one_owner() -> None:
    rows = GroupRows()
    rows.subscribe(0, 0, instance="me")
    rows.assigned(100, 0, 1, keys(0))
    rows.fault(2000, "c1", "kill_client", 3000)
    rows.subscribe(3000, 4, instance="me")
    rows.assigned(3100, 4, 1, keys(0))
    group = read(rows)["g"]
    assert list(group.members) == ["c1"]
    member = group.members["c1"]
    assert group.overlaps == []
    assert [(each.process, each.instance) for each in member.lives] == [(0, "me"), (4, "me")]
    assert spans(member.owned)[0][3:] == (2000, "killed")
    assert [each.word for each in member.absences] == ["killed"]


def test_a_kill_that_interrupts_an_operation_is_a_kill() -> None:
    """The client's end is in the history before the proof of the fault."""
    rows = GroupRows()
    rows.subscribe(0, 0)
    rows.assigned(100, 0, 1, keys(0))
    rows.row(1900, 0, "invoke", "poll", [["poll"]])
    rows.row(2000, -1, "info", "start-churn",
             {"kind": "kill_client", "name": "churn 1/c1", "client": "c1"})  # fmt: skip
    rows.row(2001, 0, "info", "poll", [["poll"]], "the client's process ended")
    rows.row(2002, -1, "info", "start-churn", {"fault": "churn 1/c1", "proof": "gone"})
    events = read(rows)["g"].members["c1"].events
    assert [(each.kind, each.time_ns) for each in events[1:]] == [("killed", 2001 * 10**6)]


def test_a_process_that_another_replaced_ends_with_its_last_row() -> None:
    """At the end of the load nobody says goodbye; others are given its partitions later."""
    rows = GroupRows()
    for process in (0, 1):
        rows.subscribe(0, process)
    rows.assigned(100, 0, 1, keys(0))
    rows.poll(5000, 0, [])
    rows.poll(6000, 4, [])
    rows.assigned(9000, 1, 2, keys(0))
    group = read(rows)["g"]
    assert spans(group.members["c1"].owned) == [("orders-0", 1, 100, 5002, "ended")]
    assert group.overlaps == []


def test_ids_of_members_are_read_from_commits_in_the_background_too() -> None:
    rows = GroupRows()
    rows.subscribe(0, 0)
    rows.commit(200, 0, 1, {"orders-0": 1}, in_background=True)
    rows.leave(300, 0)
    rows.subscribe(400, 0)
    lives = read(rows)["g"].members["c1"].lives
    assert [each.member for each in lives] == ["id-0", None]


def test_a_history_without_groups_has_none() -> None:
    rows = Rows()
    rows.send(0, 0, 1, 0)
    assert read(rows) == {}


@pytest.mark.parametrize("seed", range(30))
def test_the_guilty_are_those_of_the_checker(seed: int) -> None:
    """Random histories, most of them impossible: both find the same pairs of assignments."""
    dice = Random(seed)
    rows = GroupRows()
    for process in range(5):
        instance = "me" if process in (0, 4) else None
        rows.subscribe(process, process, instance=instance)
    for step in range(60):
        process, key = dice.randrange(5), dice.sample(range(3), dice.randint(1, 2))
        deed = dice.choice((rows.assigned, rows.assigned, rows.revoked, rows.lost))
        deed(100 + 10 * step, process, dice.choice((1, 2, None)), keys(*sorted(key)))
    group = read(rows, clients=0)["g"]
    own = {(each.indices, each.key) for each in group.overlaps if each.is_guilty}
    found = two_owners(LogFacts(columns_of(History.of(rows.ops))))
    theirs = {(each.ops, each.witness["key"]) for each in found.found}
    assert theirs <= own
    assert len(own) == found.count


def test_a_stored_run_is_read_as_one_in_memory(tmp_path: Path) -> None:
    """From Parquet the rows are read together, not one by one."""
    run = busy_run(tmp_path)
    lean, whole = Calls(load_history(run)), Calls(History.of(busy_groups().ops))
    assert list(group_rows(lean)) == list(group_rows(whole))
    groups = groups_of(
        list(group_rows(lean)), CLIENTS, lean.end_of_all_ns, replacements(lean, CLIENTS)
    )
    assert [(each.name, len(each.members)) for each in groups] == [("alpha", 7), ("beta", 5)]
    guilty = [each.key for each in groups[0].overlaps if each.is_guilty]
    assert guilty == ["orders-16", "orders-17"]
    assert {each.holder for each in groups[1].overlaps} == {"c8"}


def test_partitions_are_spelled_as_ranges() -> None:
    assert ranges(keys(0, 1, 2, 3, 7)) == ["orders 0-3, 7"]
    assert ranges([*keys(10, 9, 2), "a-b-1", "odd"]) == ["a-b 1", "orders 2, 9-10", "odd"]
    assert without_topic(keys(4)) == "4"
    assert without_topic([*keys(4), "a-1"]) is None
    assert in_order(keys(10, 9)) == ("orders-9", "orders-10")
