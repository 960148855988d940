"""A leader says that its epoch begins, or ends."""

from __future__ import annotations

from broker.protocol.errors import ErrorCode
from broker.raft import elections
from broker.raft.effects import Effect, Reply
from broker.raft.events import BeginEpochRequested, EndEpochRequested, EpochAnswer
from broker.raft.quorum import Quorum
from broker.raft.roles import Follower


def on_begin_epoch(quorum: Quorum, event: BeginEpochRequested, now: float) -> list[Effect]:
    error = _refusal(quorum, event.epoch, event.leader_id)
    if error is ErrorCode.NONE and _is_news(quorum, event.epoch):
        quorum.follow(event.epoch, event.leader_id, now)
        assert isinstance(quorum.standing, Follower)
        quorum.heard_from_leader(quorum.standing, now)
    # To a follower it says nothing: a leader that it cannot fetch from is of no use to it.
    return [Reply(event.token, EpochAnswer(quorum.epoch, quorum.leader_id, error))]


def on_end_epoch(quorum: Quorum, event: EndEpochRequested, now: float) -> list[Effect]:
    error = _refusal(quorum, event.epoch, event.leader_id)
    effects: list[Effect] = []
    if error is ErrorCode.NONE:
        if _is_news(quorum, event.epoch):
            quorum.follow(event.epoch, event.leader_id, now)
        if isinstance(quorum.standing, Follower):
            effects = _succeed(quorum, quorum.standing, event.successors, now)
    return [Reply(event.token, EpochAnswer(quorum.epoch, quorum.leader_id, error)), *effects]


def _succeed(
    quorum: Quorum, follower: Follower, successors: tuple[int, ...], now: float
) -> list[Effect]:
    """The first in the line stands at once, without asking; the others when it seems to fail."""
    place = successors.index(quorum.node_id) if quorum.node_id in successors else len(successors)
    if quorum.is_voter and place == 0 and not quorum.stopping:
        return elections.stand(quorum, now)
    wait_s = quorum.timeouts.election_s * place + quorum.spread_s()
    quorum.lose_faith(follower, now, wait_s)
    return []


def _is_news(quorum: Quorum, epoch: int) -> bool:
    return epoch > quorum.epoch or quorum.leader_of_epoch is None


def _refusal(quorum: Quorum, epoch: int, leader_id: int) -> ErrorCode:
    if leader_id not in quorum.others:
        return ErrorCode.INCONSISTENT_VOTER_SET
    if epoch < quorum.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch == quorum.epoch and quorum.leader_of_epoch not in (None, leader_id):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE
