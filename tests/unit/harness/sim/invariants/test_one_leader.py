"""W-ELECT: one leader in an epoch, one vote in an epoch."""

import pytest

from broker.raft.events import QuorumState
from broker.raft.member_state import MemberState
from broker.raft.roles import Leader, Progress
from harness.sim.invariants.one_leader import OneLeader
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks, cluster_by_hand


def test_two_leaders_of_one_epoch_are_found() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        epoch = cluster.partition(cluster.leader).leader_epoch
        with breaks(rule, f"n{cluster.follower} leads t-0 in epoch {epoch}, which n"):
            cluster.tell("role", cluster.follower, epoch=epoch, detail="leader")


def test_the_leader_of_the_next_epoch_may_be_another() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        epoch = cluster.partition(cluster.leader).leader_epoch
        cluster.tell("role", cluster.follower, epoch=epoch + 1, detail="leader")
        assert rule.looks == looks + 1


def test_a_leadership_does_not_outlive_its_process() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        leader = cluster.leader
        epoch = cluster.partition(leader).leader_epoch
        cluster.cluster[f"n{leader}"].kill()
        cluster.cluster[f"n{leader}"].start()
        cluster.run(cluster.cluster[f"n{leader}"].started(), for_s=30.0)
        with breaks(rule, "in a second life"):
            cluster.tell("role", leader, epoch=epoch, detail="leader")


def test_two_leaders_of_the_quorum_are_found() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        epoch = cluster.node(1).quorum.raft.epoch
        other = next(each for each in (1, 2, 3) if each != cluster.controller)
        with breaks(rule, f"n{other} leads the quorum in epoch {epoch}"):
            cluster.tell_of_quorum("role", other, epoch=epoch, detail="leader")


def test_a_second_vote_in_an_epoch_is_found_after_a_restart_too() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        cluster.tell_of_quorum("vote", 1, offset=2, epoch=50)
        cluster.cluster["n1"].kill()
        cluster.cluster["n1"].start()
        cluster.run(cluster.cluster["n1"].started(), for_s=30.0)
        with breaks(rule, "n1 votes for n3 in epoch 50, after n2"):
            cluster.tell_of_quorum("vote", 1, offset=3, epoch=50)


def test_who_stands_for_election_has_voted_for_itself() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        cluster.tell_of_quorum("role", 1, epoch=50, detail="candidate")
        with breaks(rule, "n1 votes for n3 in epoch 50, after n1"):
            cluster.tell_of_quorum("vote", 1, offset=3, epoch=50)


def test_the_same_vote_may_be_said_again_and_another_in_the_next_epoch() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        for epoch, chosen in ((50, 2), (50, 2), (51, 3)):
            cluster.tell_of_quorum("vote", 1, offset=chosen, epoch=epoch)
        assert rule.looks == looks + 3


def test_followers_and_a_vote_for_nobody_are_nothing_to_look_at() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        looks = rule.looks
        cluster.tell("role", 1, epoch=50, detail="follower")
        cluster.tell_of_quorum("vote", 1, epoch=50)
        assert rule.looks == looks


def test_a_leader_that_nobody_told_of_is_found() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        leader, follower = cluster.leader, cluster.follower
        cluster.partition(follower).leader = cluster.partition(leader).leader
        with breaks(rule, f"n{follower} leads t-0 in epoch 0, which n{leader} led before"):
            cluster.tell("append", follower)


def test_a_role_in_the_quorum_that_a_start_restored_without_a_word_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the file `quorum-state` brought a leadership back."""
    real = MemberState.restore

    def restore(self: MemberState, state: QuorumState, now: float) -> None:
        real(self, state, now)
        if state.leader_id == self.node_id:
            others = {each: Progress() for each in self.others}
            self.standing = Leader(self.log.end_offset, now, now + 9, others)

    monkeypatch.setattr(MemberState, "restore", restore)
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        machine = cluster.cluster[f"n{cluster.controller}"]
        machine.kill()
        machine.start()
        words = f"{machine.name} leads the quorum in epoch .* in a second life"
        with breaks(rule, words):
            cluster.run(machine.started(), for_s=30.0)


def test_a_vote_that_was_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Q01: a start that does not bring it back, in the epoch in which it was given."""
    real = MemberState.restore

    def restore(self: MemberState, state: QuorumState, now: float) -> None:
        real(self, QuorumState(state.epoch, None, state.leader_id), now)

    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        machine = cluster.cluster[f"n{cluster.controller}"]
        monkeypatch.setattr(MemberState, "restore", restore)
        machine.kill()
        machine.start()
        with breaks(rule, f"{machine.name} has forgotten that it voted for {machine.name}"):
            cluster.run(machine.started(), for_s=30.0)


def test_a_vote_for_another_than_the_one_that_was_spoken_is_found() -> None:
    rule = OneLeader()
    with cluster_by_hand(rule) as cluster:
        controller = cluster.controller
        member = cluster.node(controller).quorum.raft._member
        member.voted_for = next(each for each in (1, 2, 3) if each != controller)
        with breaks(rule, f"n{controller} holds a vote for n{member.voted_for} in epoch"):
            cluster.tell("append", controller)
