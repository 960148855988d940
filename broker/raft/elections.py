"""Who gets a vote, and what a candidate makes of the answers.

A voter asks first whether it would be elected (KIP-996), and opens an epoch only when a majority
says so. A member that was cut off comes back without having raised any epoch.
"""

from __future__ import annotations

from broker.protocol.errors import ErrorCode
from broker.raft import leading
from broker.raft.effects import AskVote, Effect, Reply
from broker.raft.events import VoteAnswer, VoteAnswered, VoteRequested
from broker.raft.quorum import Quorum
from broker.raft.roles import Campaign, Follower, Leader


def on_vote_requested(quorum: Quorum, event: VoteRequested, now: float) -> list[Effect]:
    error = ErrorCode.NONE
    granted = False
    if not quorum.is_voter or event.candidate_id not in quorum.others:
        # Not even its epoch is taken: who has no vote disturbs no election.
        error = ErrorCode.INCONSISTENT_VOTER_SET
    elif event.epoch < quorum.epoch:
        error = ErrorCode.FENCED_LEADER_EPOCH
    elif event.is_pre_vote:
        granted = not hears_a_leader(quorum, now) and is_up_to_date(quorum, event)
    else:
        granted = _vote(quorum, event, now)
    return [Reply(event.token, VoteAnswer(quorum.epoch, quorum.leader_id, granted, error))]


def _vote(quorum: Quorum, event: VoteRequested, now: float) -> bool:
    if event.epoch > quorum.epoch:
        quorum.detach(event.epoch, now)
    if not (is_free_to_vote(quorum, event.candidate_id) and is_up_to_date(quorum, event)):
        return False
    if quorum.voted_for is None:
        quorum.voted_for = event.candidate_id
        quorum.detach(event.epoch, now)  # time for the candidate to win
    return True


def is_free_to_vote(quorum: Quorum, candidate_id: int) -> bool:
    """One vote in an epoch, and none once its leader is known. The same one may be said again."""
    if quorum.voted_for is not None:
        return quorum.voted_for == candidate_id
    return quorum.leader_of_epoch is None


def is_up_to_date(quorum: Quorum, event: VoteRequested) -> bool:
    """A later last epoch beats a longer log."""
    log = quorum.log
    return (event.last_epoch, event.last_offset) >= (log.last_epoch, log.end_offset)


def hears_a_leader(quorum: Quorum, now: float) -> bool:
    match quorum.standing:
        case Leader():
            return True
        case Follower(heard_at=heard_at):
            return now - heard_at < quorum.timeouts.fetch_s
        case _:
            return False


def ask_whether_to_stand(quorum: Quorum, now: float) -> list[Effect]:
    return _campaign(quorum, is_pre_vote=True, now=now)


def stand(quorum: Quorum, now: float) -> list[Effect]:
    quorum.open_epoch()
    return _campaign(quorum, is_pre_vote=False, now=now)


def _campaign(quorum: Quorum, *, is_pre_vote: bool, now: float) -> list[Effect]:
    quorum.campaign(is_pre_vote=is_pre_vote, now=now)
    log = quorum.log
    asked: list[Effect] = [
        AskVote(voter, quorum.epoch, log.last_epoch, log.end_offset, is_pre_vote)
        for voter in quorum.others
    ]
    return asked or _count(quorum, now)


def on_vote_answered(quorum: Quorum, event: VoteAnswered, now: float) -> list[Effect]:
    if event.from_id not in quorum.others:
        return []
    quorum.learn(event.answer.epoch, event.answer.leader_id, now)
    campaign = quorum.standing
    if (
        not isinstance(campaign, Campaign)
        or campaign.is_pre_vote != event.is_pre_vote
        or event.asked_epoch != quorum.epoch
    ):
        return []
    # A vote is not taken back: a refusal after it answers a copy of the request.
    campaign.votes[event.from_id] = campaign.votes.get(event.from_id, False) or event.answer.granted
    return _count(quorum, now)


def _count(quorum: Quorum, now: float) -> list[Effect]:
    campaign = quorum.standing
    assert isinstance(campaign, Campaign)
    if len(campaign.granted_by) >= quorum.majority:
        if campaign.is_pre_vote:
            return stand(quorum, now)
        return leading.begin(quorum, campaign.granted_by, now)
    if campaign.refusal_count > len(quorum.voters) - quorum.majority:
        quorum.fall_back(now)
    return []
