"""A sweep that cannot fail proves nothing: a broker that is broken on purpose is found out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.coordination import loading
from broker.coordination.shard import Shard
from broker.coordination.step import CoordinatorRecord, Machine, Now, Reply, Step, Ticket
from broker.groups.classic.group import ClassicGroup
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.machine import GroupMachine
from broker.log import truncation
from broker.log.breather import Breather
from broker.log.broker_life import Life
from broker.log.log import Log
from broker.log.log_directory import LogDirectory
from broker.protocol import messages as m
from broker.protocol.batch import iterate_headers
from broker.protocol.errors import ErrorCode
from broker.protocol.records import iterate_records
from broker.raft import elections
from broker.raft.events import QuorumState
from broker.raft.member_state import MemberState
from broker.replication import follower, leader
from broker.replication.fetch_check import Diverging
from broker.replication.log_view import LogView
from broker.replication.waiting_produces import WaitingProduces
from harness.sim.sweep import Seeds, run_seed
from tests.property import consumer_group_mutants

pytestmark = pytest.mark.sweep

Break = Callable[[pytest.MonkeyPatch], None]
Findings = tuple[str, ...]
"""What a failure may begin with: an invariant's name, or the word of the judgement."""


def leader_commits_alone(patch: pytest.MonkeyPatch) -> None:
    def advance(self: leader.LeaderState, now: float) -> bool:
        moved = self.end_offset > self.high_watermark
        self.high_watermark = max(self.high_watermark, self.end_offset)
        return moved

    patch.setattr(leader.LeaderState, "_advance", advance)


def diverging_fetch_counts(patch: pytest.MonkeyPatch) -> None:
    """R04."""
    patch.setattr(leader, "check_fetch", lambda *_: None)


def compares_offsets_alone(patch: pytest.MonkeyPatch) -> None:
    """R02: whose records they are is neither asked nor told: a log ends where the other does."""

    def check(log: LogView, fetch_offset: int, last_fetched_epoch: int) -> Diverging | None:
        is_longer = fetch_offset > log.end_offset
        return Diverging(last_fetched_epoch, log.end_offset) if is_longer else None

    def truncation(log: LogView, said: Diverging, leader_start: int) -> follower.Truncate:
        return follower.Truncate(min(said.end_offset, log.end_offset))

    patch.setattr(leader, "check_fetch", check)
    patch.setattr(follower, "_truncation", truncation)


def votes_again_in_one_epoch(patch: pytest.MonkeyPatch) -> None:
    """Q01: as if each vote were forgotten at once."""
    patch.setattr(elections, "is_free_to_vote", lambda *_: True)


def trusts_what_a_power_loss_left(patch: pytest.MonkeyPatch) -> None:
    """R07, R08: the rebooted replica is taken for complete."""

    real = LogDirectory.load

    async def load(self: LogDirectory, *args: object, **more: object) -> object:
        found = await real(self, *args, **more)  # type: ignore[arg-type]
        self.last_life = Life(self.last_life.broker_epoch, is_unharmed=True)
        return found

    patch.setattr(LogDirectory, "load", load)


def a_deposed_leader_says_that_it_is_done(patch: pytest.MonkeyPatch) -> None:
    """Q05: whoever waits for a commit hears of success, though the records may be cut off."""
    take_all = WaitingProduces.take_all

    def all_is_well(self: WaitingProduces[object]) -> list[tuple[object, ErrorCode]]:
        return [(key, ErrorCode.NONE) for key, _ in take_all(self)]

    patch.setattr(WaitingProduces, "take_all", all_is_well)


def commits_below_the_minimum(patch: pytest.MonkeyPatch) -> None:
    """Before KIP-966: the high watermark moves however few are in sync."""
    real = leader.LeaderState._advance

    def advance(self: leader.LeaderState, now: float) -> bool:
        is_under, self.is_under_min_isr = self.is_under_min_isr, False
        try:
            return real(self, now)
        finally:
            self.is_under_min_isr = is_under

    patch.setattr(leader.LeaderState, "_advance", advance)


def forgets_its_vote_at_a_start(patch: pytest.MonkeyPatch) -> None:
    """Q01: the epoch comes back from the disk, and the vote in it does not."""
    real = MemberState.restore

    def restore(self: MemberState, state: QuorumState, now: float) -> None:
        real(self, QuorumState(state.epoch, None, state.leader_id), now)

    patch.setattr(MemberState, "restore", restore)


def remembers_what_was_cut_off(patch: pytest.MonkeyPatch) -> None:
    """A truncation leaves the producers as they were."""

    async def rebuild(log: Log, breather: Breather) -> None:
        return None

    patch.setattr(truncation, "rebuild_producers", rebuild)


def loads_the_last_batch_of_each_read(patch: pytest.MonkeyPatch) -> None:
    """G02, KAFKA-5600: what stands before it in the same read is not applied."""

    async def replay(
        data: memoryview,
        offset: int,
        machine: Machine,
        breather: Breather,
    ) -> int:
        position, header = list(iterate_headers(data))[-1]
        last = data[position : position + header.size]
        for record in iterate_records(last, header, max_bytes=1 << 20):
            assert record.key is not None
            machine.replay(CoordinatorRecord(record.key, record.value))
        return header.last_offset + 1

    patch.setattr(loading, "_replay_batches", replay)


def commits_in_memory_only(patch: pytest.MonkeyPatch) -> None:
    """And never in the log."""
    real = GroupMachine.offset_commit

    def commit(
        self: GroupMachine, ticket: Ticket, body: m.OffsetCommitRequest, version: int, now: Now
    ) -> Step:
        step = real(self, ticket, body, version, now)
        for record in step.records:
            self.replay(record)
        return Step(replies=step.replies)

    patch.setattr(GroupMachine, "offset_commit", commit)


def acknowledges_commits_at_once(patch: pytest.MonkeyPatch) -> None:
    """G10: before the high watermark has passed them."""
    real = Shard._release_when_committed

    def release(self: Shard[GroupMachine], replies: list[Reply]) -> None:
        for reply in replies:
            self.partition.acknowledged(self._end_offset)
            self._answer(reply.ticket, reply.response)
        real(self, [])

    patch.setattr(Shard, "_release_when_committed", release)


def takes_commits_of_zombies(patch: pytest.MonkeyPatch) -> None:
    """G05."""
    patch.setattr(ClassicGroup, "check_commit", lambda *_: ErrorCode.NONE)
    patch.setattr(ConsumerGroup, "check_commit", lambda *_: ErrorCode.NONE)


LACKING = ("W-CAND", "W-LEADC", "W-SUPERSET", "W-HWACK", "lost")
"""Somebody who counts for complete is not."""

QUICKLY_FOUND: list[tuple[Break, Findings]] = [
    (leader_commits_alone, LACKING),
    (diverging_fetch_counts, (*LACKING, "W-LOGMATCH")),
    (loads_the_last_batch_of_each_read, ("W-OFFMAT", "W-SMEQ")),
    (commits_in_memory_only, ("W-OFFMAT", "W-SMEQ")),
]
FOUND: list[tuple[Break, Findings]] = [
    (compares_offsets_alone, (*LACKING, "W-LOGMATCH")),
    (votes_again_in_one_epoch, ("W-ELECT",)),
    (commits_below_the_minimum, ("W-MINISR",)),
    (forgets_its_vote_at_a_start, ("W-ELECT",)),
    (remembers_what_was_cut_off, ("W-SEQ",)),
    (trusts_what_a_power_loss_left, LACKING),
    (acknowledges_commits_at_once, ("W-OFFMAT", "lost")),
    (a_deposed_leader_says_that_it_is_done, (*LACKING, "W-DURABLE")),
]


FOUND_WITH_GROUPS: list[tuple[Break, Findings]] = [
    (takes_commits_of_zombies, ("W-GEN",)),
    (consumer_group_mutants.assign_what_others_hold, ("W-OWN",)),
    (consumer_group_mutants.believe_that_what_must_go_is_gone, ("W-OWN",)),
    (consumer_group_mutants.forget_what_is_being_given_up, ("W-OWN",)),
]


def check_found(seeds: range, findings: Findings, setting: Seeds = Seeds()) -> None:  # noqa: B008
    """The first seed that notices anything must notice this, and not what came of it.

    A node that gave up, or a run that could not go on, shows only that something is wrong.
    """
    for seed in seeds:
        failure = run_seed(seed, setting).failure
        if failure is not None:
            assert failure.split(":")[0] in findings, f"seed {seed}: {failure}"
            return
    raise AssertionError(f"none of {len(seeds)} seeds noticed")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("break_it", "findings"), QUICKLY_FOUND)
def test_a_broken_rule_is_found_quickly(
    break_it: Break, findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    check_found(range(1, 11), findings)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("break_it", "findings"), FOUND)
def test_a_broken_rule_is_found(
    break_it: Break, findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    # A second vote in one epoch matters to about one seed in thirty.
    check_found(range(1, 201), findings)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("break_it", "findings"), FOUND_WITH_GROUPS)
def test_a_broken_rule_of_groups_is_found(
    break_it: Break, findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    check_found(range(1, 31), findings, Seeds(groups=True))


def a_rule_that_raises(patch: pytest.MonkeyPatch) -> None:
    def truncation(log: LogView) -> follower.Truncate:
        raise AssertionError("never called: it takes more than a log")

    patch.setattr(follower, "_truncation", truncation)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_merely_stumbles_is_not_taken_for_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    a_rule_that_raises(monkeypatch)
    with pytest.raises(AssertionError):
        check_found(range(1, 31), (*LACKING, "W-LOGMATCH", "W-ELECT", "W-DURABLE"))
