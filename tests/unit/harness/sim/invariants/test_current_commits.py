"""W-GEN: accepted commits carry the current generation or member epoch."""

from dataclasses import replace

import pytest

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.seen import SeenGroup, SeenMember
from broker.inspect import CommitDecided
from broker.protocol.errors import ErrorCode
from harness.sim.invariants.current_commits import CurrentCommits, _problem
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks
from tests.unit.harness.sim.invariants.members_by_hand import members_by_hand

_A = SeenMember("a", "i", 3, (("t", 0), ("t", 1)), (2, 3))
_CONSUMER = SeenGroup("g", "consumer", "Stable", 3, (_A,), "")
_CLASSIC = replace(_CONSUMER, kind="classic")
_COMMIT = CommitDecided("g", "a", None, 3, (("t", "t", 0),), _CONSUMER)


def test_commits_of_members_in_their_epoch_are_fine() -> None:
    rule = CurrentCommits()
    with members_by_hand(rule) as members:
        members.join("a")
        looks = rule.looks
        assert members.commit("a", 3) == ErrorCode.NONE
        assert members.commit("a", 2, epoch=1) == ErrorCode.STALE_MEMBER_EPOCH
        assert rule.looks == looks + 1


def test_a_zombie_whose_commit_is_accepted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """G05: the check lets strangers pass."""
    monkeypatch.setattr(ConsumerGroup, "check_commit", lambda *_: ErrorCode.NONE)
    rule = CurrentCommits()
    with members_by_hand(rule) as members:
        members.join("a")
        members.join("b")
        members.leave("a")
        with breaks(rule, "accepts a commit of a for group g in generation 2, but .* none of them"):
            members.commit("a", 9, epoch=2)


@pytest.mark.parametrize(
    "innocent",
    [
        _COMMIT,
        replace(_COMMIT, instance_id="i"),
        replace(_COMMIT, generation=2),  # the partition has been a's since (KIP-1251)
        replace(_COMMIT, group=_CLASSIC),
        replace(_COMMIT, group=replace(_CLASSIC, state="PreparingRebalance")),
        replace(_COMMIT, member_id="", generation=-1, group=None),
        replace(_COMMIT, member_id="", generation=-1, is_transactional=True),
        replace(
            _COMMIT, group=replace(_CLASSIC, state="CompletingRebalance"), is_transactional=True
        ),
        replace(_COMMIT, member_id="", generation=-1, group=replace(_CLASSIC, members=())),
        replace(_COMMIT, member_id="", generation=-1, group=replace(_CONSUMER, members=())),
    ],
)
def test_a_current_commit_is_innocent(innocent: CommitDecided) -> None:
    assert _problem(innocent) is None


@pytest.mark.parametrize(
    "guilty",
    [
        replace(_COMMIT, member_id="b"),
        replace(_COMMIT, member_id="", generation=-1),
        replace(_COMMIT, instance_id="j"),
        replace(_COMMIT, generation=4),
        replace(_COMMIT, generation=1),
        replace(_COMMIT, generation=2, accepted=(("t", "t", 1),)),
        replace(_COMMIT, generation=2, accepted=(("u", "u", 0),)),
        replace(_COMMIT, generation=2, group=_CLASSIC),
        replace(_COMMIT, generation=4, group=_CLASSIC),
        replace(_COMMIT, generation=-1, group=_CLASSIC),
        replace(_COMMIT, group=replace(_CLASSIC, state="CompletingRebalance")),
        replace(_COMMIT, group=replace(_CLASSIC, members=())),
        replace(_COMMIT, group=None),
    ],
)
def test_a_commit_that_is_not_current_is_guilty(guilty: CommitDecided) -> None:
    assert _problem(guilty) is not None
