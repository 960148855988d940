"""A leader says that its epoch begins, or ends."""

from __future__ import annotations

from broker.protocol.errors import ErrorCode
from broker.raft import elections
from broker.raft.effects import Effect, Reply
from broker.raft.events import BeginEpochRequested, EndEpochRequested, EpochAnswer
from broker.raft.member_state import MemberState
from broker.raft.roles import Follower


def on_begin_epoch(member: MemberState, event: BeginEpochRequested, now: float) -> list[Effect]:
    error = _refusal(member, event.epoch, event.leader_id)
    if error is ErrorCode.NONE and _is_news(member, event.epoch):
        member.follow(event.epoch, event.leader_id, now)
        assert isinstance(member.standing, Follower)
        member.heard_from_leader(member.standing, now)
    # To a follower it says nothing: a leader that it cannot fetch from is of no use to it.
    return [Reply(event.token, EpochAnswer(member.epoch, member.leader_id, error))]


def on_end_epoch(member: MemberState, event: EndEpochRequested, now: float) -> list[Effect]:
    error = _refusal(member, event.epoch, event.leader_id)
    effects: list[Effect] = []
    if error is ErrorCode.NONE:
        if _is_news(member, event.epoch):
            member.follow(event.epoch, event.leader_id, now)
        if isinstance(member.standing, Follower):
            effects = _succeed(member, member.standing, event.successors, now)
    return [Reply(event.token, EpochAnswer(member.epoch, member.leader_id, error)), *effects]


def _succeed(
    member: MemberState, follower: Follower, successors: tuple[int, ...], now: float
) -> list[Effect]:
    """The first in the line stands at once, without asking; the others when it seems to fail."""
    place = successors.index(member.node_id) if member.node_id in successors else len(successors)
    if member.is_voter and place == 0 and not member.stopping:
        return elections.stand(member, now)
    wait_s = member.timeouts.election_s * place + member.spread_s()
    member.lose_faith(follower, now, wait_s)
    return []


def _is_news(member: MemberState, epoch: int) -> bool:
    return epoch > member.epoch or member.leader_of_epoch is None


def _refusal(member: MemberState, epoch: int, leader_id: int) -> ErrorCode:
    if leader_id not in member.others:
        return ErrorCode.INCONSISTENT_VOTER_SET
    if epoch < member.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch == member.epoch and member.leader_of_epoch not in (None, leader_id):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE
