"""A member of a group: what it commits, and which rows it leaves in the history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from harness.client.base import Completion, Invocation, Prepared
from harness.client.driver import DriverError, Polled, Read
from harness.client.group_driver import (
    Commits,
    Committed,
    GroupDriver,
    Membership,
    Notice,
    Subscription,
)
from harness.client.group_member import GroupMember


class Library:
    """A library whose group does what the test says."""

    def __init__(self) -> None:
        self.generation: int | None = 1
        self.polls: list[Polled] = []
        self.new_notices: list[Notice] = []
        self.new_ends: list[Committed] = []
        self.refusal: DriverError | None = None
        self.commits: list[dict[str, int]] = []

    async def subscribe(self, subscription: Subscription) -> Subscription:
        return subscription

    async def leave(self) -> None:
        self.new_notices.append(Notice(99, "revoked", ["t-0"], self.generation))

    def membership(self) -> Membership:
        return Membership(self.generation, "m")

    async def poll_group(self) -> Polled:
        return self.polls.pop(0)

    async def commit(self, offsets: Mapping[str, int]) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.commits.append(dict(offsets))

    def commit_later(self, offsets: Mapping[str, int]) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.commits.append(dict(offsets))

    async def committed(self, keys: Sequence[str]) -> dict[str, int | None]:
        return dict.fromkeys(keys)

    def notices(self) -> list[Notice]:
        found, self.new_notices = self.new_notices, []
        return found

    def committed_since(self) -> list[Committed]:
        found, self.new_ends = self.new_ends, []
        return found


def a_library(library: Library) -> GroupDriver:
    """Static check: the fake implements the protocol."""
    return library


def joined(commits: Commits = "sync") -> tuple[Library, GroupMember]:
    """A member that owns t-0 and t-1."""
    library, ticks = Library(), count(10)
    member = GroupMember(a_library(library), lambda: next(ticks))
    wanted = Subscription(group="g", topics=("t",), commits=commits)
    assert asyncio.run(member.subscribe(wanted.value())).type == "ok"
    library.new_notices.append(Notice(1, "assigned", ["t-0", "t-1"], 1))
    return library, member


def poll(library: Library, member: GroupMember, **records: Sequence[int]) -> Any:
    """`t0=[4, 5]`: offsets 4 and 5 of t-0."""
    by_key = {
        f"{name[0]}-{name[1:]}": [Read(offset, None, b"") for offset in offsets]
        for name, offsets in records.items()
    }
    library.polls.append(Polled(by_key))
    return asyncio.run(member.poll())


def commit_later(member: GroupMember) -> tuple[Prepared, Completion]:
    prepared = member.prepare(Invocation("commit-later"))
    return prepared, asyncio.run(member.commit_later(prepared.invocation.value))


def test_a_commit_names_what_polls_returned_before_it_is_sent() -> None:
    library, member = joined()
    poll(library, member, t0=[4, 5])
    prepared = member.prepare(Invocation("commit"))
    assert prepared.invocation.value == {
        "group": "g",
        "generation": 1,
        "member": "m",
        "offsets": {"t-0": 6},
    }
    assert library.commits == []
    assert asyncio.run(member.commit(prepared.invocation.value)).type == "ok"
    assert library.commits == [{"t-0": 6}]


def test_a_partition_that_was_taken_away_is_not_committed_any_more() -> None:
    library, member = joined()
    poll(library, member, t0=[4], t1=[0])
    library.new_notices.append(Notice(2, "lost", ["t-0"], 1))
    poll(library, member, t0=[5])
    offsets = member.prepare(Invocation("commit")).invocation.value["offsets"]
    assert offsets == {"t-1": 1}


def test_a_partition_that_came_back_is_committed_from_its_new_position() -> None:
    library, member = joined()
    poll(library, member, t0=[4])
    library.new_notices += [
        Notice(2, "revoked", ["t-0"], 1),
        Notice(3, "assigned", ["t-0"], 2),
    ]
    poll(library, member)
    assert member.prepare(Invocation("commit")).invocation.value["offsets"] == {}
    poll(library, member, t0=[2])
    assert member.prepare(Invocation("commit")).invocation.value["offsets"] == {"t-0": 3}


def test_what_the_group_does_becomes_rows_with_their_own_times() -> None:
    library, member = joined()
    _, beside = poll(library, member)
    (row,) = beside
    assert (row.time_ns, row.type, row.f, row.background) == (1, "ok", "assigned", None)
    assert row.value == {"group": "g", "generation": 1, "keys": ["t-0", "t-1"]}


def test_a_refused_commit_is_of_unknown_outcome_unless_the_client_knows_of_every_try() -> None:
    library, member = joined()
    poll(library, member, t0=[4])
    value = member.prepare(Invocation("commit")).invocation.value
    library.refusal = DriverError("ILLEGAL_GENERATION")
    assert asyncio.run(member.commit(value)).type == "info"
    library.refusal = DriverError("ILLEGAL_GENERATION", harmless=True)
    assert asyncio.run(member.commit(value)).type == "fail"


def test_an_error_beside_records_does_not_take_the_records_back() -> None:
    library, member = joined()
    problem = DriverError("NOT_COORDINATOR")
    library.polls.append(Polled({"t-0": [Read(0, None, b"")]}, problem))
    polled, _ = asyncio.run(member.poll())
    assert polled.error is None
    assert member.prepare(Invocation("commit")).invocation.value["offsets"] == {"t-0": 1}


def test_a_background_commit_is_begun_before_the_library_is_asked_and_ends_by_its_report() -> None:
    library, member = joined("async")
    poll(library, member, t0=[4])
    prepared, completion = commit_later(member)
    (begun,) = prepared.beside
    assert (begun.type, begun.f, begun.background) == ("invoke", "commit", 0)
    assert begun.value["offsets"] == {"t-0": 5}
    assert completion.type == "ok"
    library.new_ends += [Committed(50, {"t-0": 5}), Committed(51, {"t-0": 5})]
    _, beside = poll(library, member)
    assert [(row.time_ns, row.type) for row in beside] == [(50, "ok")]  # the first report ends it


def test_the_end_of_a_background_commit_keeps_the_generation_of_its_beginning() -> None:
    library, member = joined("async")
    poll(library, member, t0=[4])
    commit_later(member)
    library.generation = 2
    library.new_ends.append(Committed(50, {"t-0": 5}))
    _, (row,) = poll(library, member)
    assert (row.time_ns, row.type, row.background) == (50, "ok", 0)
    assert (row.value["generation"], row.value["offsets"]) == (1, {"t-0": 5})


def test_a_failed_background_commit_is_of_unknown_outcome() -> None:
    library, member = joined("async")
    poll(library, member, t0=[4])
    commit_later(member)
    library.new_ends.append(Committed(50, {"t-0": 5}, DriverError("REQUEST_TIMED_OUT")))
    _, (row,) = poll(library, member)
    assert (row.type, row.error) == ("info", "REQUEST_TIMED_OUT")


def test_the_same_offsets_are_not_left_to_the_library_twice() -> None:
    library, member = joined("auto")
    poll(library, member, t0=[4])
    commit_later(member)
    prepared, completion = commit_later(member)
    assert (prepared.beside, completion.type) == ((), "fail")
    assert library.commits == [{"t-0": 5}]


def test_a_stored_offset_that_a_later_one_replaced_was_never_committed() -> None:
    library, member = joined("auto")
    poll(library, member, t0=[4], t1=[0])
    commit_later(member)
    poll(library, member, t0=[5])
    commit_later(member)
    library.new_ends.append(Committed(50, {"t-0": 6}))
    _, (second,) = poll(library, member)
    assert (second.background, second.type, second.value["offsets"]) == (1, "ok", {"t-0": 6})
    library.new_ends.append(Committed(51, {"t-1": 1}))
    _, (first,) = poll(library, member)
    # Of the first store only t-1 was committed as it was stored.
    assert (first.background, first.type, first.value["offsets"]) == (0, "ok", {"t-1": 1})


def test_a_stored_offset_that_was_replaced_whole_is_a_commit_that_failed() -> None:
    library, member = joined("auto")
    poll(library, member, t0=[4])
    commit_later(member)
    poll(library, member, t0=[5])
    commit_later(member)
    library.new_ends.append(Committed(50, {"t-0": 6}))
    _, rows = poll(library, member)
    assert [(row.background, row.type) for row in rows] == [(0, "fail"), (1, "ok")]


def test_leaving_records_what_was_revoked_and_forgets_all_positions() -> None:
    library, member = joined()
    poll(library, member, t0=[4])
    completion = asyncio.run(member.leave(None))
    assert [row.f for row in completion.beside] == ["revoked"]
    assert completion.beside[0].value["group"] == "g"
    assert not member.is_subscribed
    assert member.prepare(Invocation("commit")).invocation.value["offsets"] == {}


def test_a_commit_that_a_member_left_behind_is_not_ended_by_one_of_its_next_membership() -> None:
    for commits in ("async", "auto"):
        library, member = joined(commits)
        poll(library, member, t0=[4])
        commit_later(member)
        asyncio.run(member.leave(None))
        again = Subscription(group="g", topics=("t",), commits=commits)
        asyncio.run(member.subscribe(again.value()))
        library.generation = 3
        library.new_notices = [Notice(100, "assigned", ["t-0"], 3)]
        poll(library, member)
        poll(library, member, t0=[4])
        prepared, _ = commit_later(member)
        assert [row.background for row in prepared.beside] == [1]
        library.new_ends.append(Committed(101, {"t-0": 5}))
        _, (row,) = poll(library, member)
        assert (row.background, row.type, row.value["generation"]) == (1, "ok", 3)


WANTED = Invocation("transform", {"topic": "out", "first": 100, "most": 3})


def test_a_transform_takes_the_oldest_inputs_and_commits_behind_them() -> None:
    library, member = joined("transaction")
    poll(library, member, t0=[4, 5], t1=[7, 8])
    prepared = member.prepare(WANTED)
    assert prepared.invocation.value == {
        "in": [["t-0", 4], ["t-0", 5], ["t-1", 7]],
        "out": [["out-0", [None, 100]], ["out-0", [None, 101]], ["out-1", [None, 102]]],
    }
    (begun,) = prepared.beside
    assert (begun.type, begun.f, begun.value["offsets"]) == (
        "invoke",
        "commit",
        {"t-0": 6, "t-1": 8},
    )
    aborted = member.transformed(Completion("fail", prepared.invocation.value, "ABORTED"))
    assert [(each.type, each.f) for each in aborted.beside] == [("fail", "commit")]
    assert member.prepare(WANTED).invocation.value == prepared.invocation.value, "nothing was done"
    done = member.transformed(Completion("ok", prepared.invocation.value))
    assert (done.beside[-1].type, done.beside[-1].background) == ("ok", begun.background)
    assert member.prepare(WANTED).invocation.value["in"] == [["t-1", 8]]


def test_inputs_of_a_partition_that_was_taken_away_are_transformed_by_another() -> None:
    library, member = joined("transaction")
    poll(library, member, t0=[4], t1=[7])
    library.new_notices.append(Notice(2, "revoked", ["t-0"], 1))
    poll(library, member)
    assert member.prepare(WANTED).invocation.value["in"] == [["t-1", 7]]


def test_a_transform_without_inputs_polls() -> None:
    _, member = joined("transaction")
    assert member.prepare(WANTED).invocation == Invocation("poll", [["poll"]])
