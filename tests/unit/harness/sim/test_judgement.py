"""The judgement of a run: guilty for each promise that can be broken, innocent next to it."""

from __future__ import annotations

import pytest

from harness.native.produce_queue import Delivered, Failed, Outcome, Unknown
from harness.sim.judgement import problems
from harness.sim.record import Commit, GroupCommit, Record, Seen, Sent


def sent(value: str, outcome: Outcome | None, client: str = "w1") -> Sent:
    return Sent(client, 0, value, 1.0, outcome, 2.0)


def seen(offset: int, value: str) -> Seen:
    return Seen(0, offset, value, "r1", 3.0)


def committed(found: int | None, *commits: tuple[int, bool]) -> Record:
    """Offsets that were committed, each with whether that was acknowledged."""
    made = [Commit("r1", 0, offset, is_acknowledged) for offset, is_acknowledged in commits]
    return Record(commits=made, last_commits={("r1", 0): found})


def record(sends: list[Sent], log: list[str], polled: list[Seen] | None = None) -> Record:
    reading = [seen(offset, value) for offset, value in enumerate(log)]
    return Record(sends=sends, seen=polled or [], last_reading={0: reading})


def group_committed(found: int | None, *commits: tuple[int, str]) -> Record:
    """Offsets that members of a group committed, each with what they heard: ok, no, or nothing."""
    made = [GroupCommit("g", 0, offset, told == "ok", told == "no") for offset, told in commits]
    return Record(group_commits=made, last_group_commits={("g", 0): found})


INNOCENT = {
    "a group has its last commit": group_committed(5, (3, "ok"), (5, "ok")),
    "a group has a later commit of unknown outcome": group_committed(7, (5, "ok"), (7, "")),
    "a zombie was refused": group_committed(5, (5, "ok"), (4, "no")),
    "a group has nothing committed for certain": group_committed(None, (5, "")),
    "all acknowledged is there": record(
        [sent("a", Delivered(0)), sent("b", Delivered(1))], ["a", "b"]
    ),
    "an unknown one is there": record([sent("a", Unknown("timed out"))], ["a"]),
    "an unknown one is not there": record([sent("a", Unknown("timed out"))], []),
    "a refused one is not there": record([sent("a", Failed("too large"))], []),
    "two clients need no order": record(
        [sent("a", Delivered(1)), sent("b", Delivered(0), "w2")], ["b", "a"]
    ),
    "the last commit is there": committed(2, (1, True), (2, True)),
    "a commit of unknown outcome is there": committed(1, (1, False), (2, True)),
    "a commit of unknown outcome is not there": committed(None, (1, False)),
    "a poll saw what is there": record([sent("a", Delivered(0))], ["a"], [seen(0, "a")]),
}

GUILTY = {
    "a group goes back": (group_committed(4, (5, "ok"), (4, "")), "lost: g committed 5"),
    "a group forgets": (group_committed(None, (5, "ok")), "and nothing is committed now"),
    "a zombie is heard": (group_committed(4, (5, "ok"), (4, "no")), "and no member did so"),
    "lost": (record([sent("a", Delivered(0))], []), "lost: a"),
    "overwritten": (record([sent("a", Delivered(0))], ["b"]), "where b is now"),
    "a commit is lost": (committed(None, (1, True)), "lost: r1 committed 1"),
    "an earlier commit is back": (committed(1, (1, True), (2, True)), "and 1 is committed now"),
    "doubled": (record([sent("a", Delivered(0))], ["a", "a"]), "stands twice"),
    "out of order": (
        record([sent("a", Delivered(1)), sent("b", Delivered(0))], ["b", "a"]),
        "out of order: b",
    ),
    "refused and there": (record([sent("a", Failed("too large"))], ["a"]), "refused for certain"),
    "dirty read": (record([], ["a"], [seen(0, "x")]), "r1 read x"),
    "read and gone": (record([], [], [seen(0, "x")]), "where nothing is at the end"),
}


@pytest.mark.parametrize("innocent", INNOCENT.values(), ids=list(INNOCENT))
def test_what_may_be_is_no_problem(innocent: Record) -> None:
    assert list(problems(innocent)) == []


@pytest.mark.parametrize(("guilty", "says"), GUILTY.values(), ids=list(GUILTY))
def test_a_broken_promise_is_told(guilty: Record, says: str) -> None:
    assert any(says in problem for problem in problems(guilty)), list(problems(guilty))


def test_a_gap_is_told() -> None:
    broken = record([], [])
    broken.last_reading[0] = [seen(0, "a"), seen(2, "c")]
    assert any("has a gap: 1 is missing" in problem for problem in problems(broken))


def test_what_was_never_read_back_proves_nothing() -> None:
    assert list(problems(Record(sends=[sent("a", Delivered(0))]))) == [
        "partition 0 was never read back"
    ]
