"""Who gets a vote, and what a candidate makes of the answers.

A voter asks first whether it would be elected (KIP-996), and opens an epoch only when a majority
says so. A member that was cut off comes back without having raised any epoch.
"""

from __future__ import annotations

from broker.protocol.errors import ErrorCode
from broker.raft import leading
from broker.raft.effects import AskVote, Effect, Reply
from broker.raft.events import VoteAnswer, VoteAnswered, VoteRequested
from broker.raft.member_state import MemberState
from broker.raft.roles import Campaign, Follower, Leader


def on_vote_requested(member: MemberState, event: VoteRequested, now: float) -> list[Effect]:
    error = ErrorCode.NONE
    granted = False
    if not member.is_voter or event.candidate_id not in member.others:
        # Not even its epoch is taken: who has no vote disturbs no election.
        error = ErrorCode.INCONSISTENT_VOTER_SET
    elif event.epoch < member.epoch:
        error = ErrorCode.FENCED_LEADER_EPOCH
    elif event.is_pre_vote:
        granted = not hears_a_leader(member, now) and is_up_to_date(member, event)
    else:
        granted = _vote(member, event, now)
    return [Reply(event.token, VoteAnswer(member.epoch, member.leader_id, granted, error))]


def _vote(member: MemberState, event: VoteRequested, now: float) -> bool:
    if event.epoch > member.epoch:
        member.detach(event.epoch, now)
    if not (is_free_to_vote(member, event.candidate_id) and is_up_to_date(member, event)):
        return False
    if member.voted_for is None:
        member.voted_for = event.candidate_id
        member.detach(event.epoch, now)  # time for the candidate to win
    return True


def is_free_to_vote(member: MemberState, candidate_id: int) -> bool:
    """One vote in an epoch, and none once its leader is known. The same one may be said again."""
    if member.voted_for is not None:
        return member.voted_for == candidate_id
    return member.leader_of_epoch is None


def is_up_to_date(member: MemberState, event: VoteRequested) -> bool:
    """A later last epoch beats a longer log."""
    log = member.log
    return (event.last_epoch, event.last_offset) >= (log.last_epoch, log.end_offset)


def hears_a_leader(member: MemberState, now: float) -> bool:
    match member.standing:
        case Leader():
            return True
        case Follower(heard_at=heard_at):
            return now - heard_at < member.timeouts.fetch_s
        case _:
            return False


def ask_whether_to_stand(member: MemberState, now: float) -> list[Effect]:
    return _campaign(member, is_pre_vote=True, now=now)


def stand(member: MemberState, now: float) -> list[Effect]:
    member.open_epoch()
    return _campaign(member, is_pre_vote=False, now=now)


def _campaign(member: MemberState, *, is_pre_vote: bool, now: float) -> list[Effect]:
    member.campaign(is_pre_vote=is_pre_vote, now=now)
    log = member.log
    asked: list[Effect] = [
        AskVote(voter, member.epoch, log.last_epoch, log.end_offset, is_pre_vote)
        for voter in member.others
    ]
    return asked or _count(member, now)


def on_vote_answered(member: MemberState, event: VoteAnswered, now: float) -> list[Effect]:
    if event.from_id not in member.others:
        return []
    member.learn(event.answer.epoch, event.answer.leader_id, now)
    campaign = member.standing
    if (
        not isinstance(campaign, Campaign)
        or campaign.is_pre_vote != event.is_pre_vote
        or event.asked_epoch != member.epoch
    ):
        return []
    # A vote is not taken back: a refusal after it answers a copy of the request.
    campaign.votes[event.from_id] = campaign.votes.get(event.from_id, False) or event.answer.granted
    return _count(member, now)


def _count(member: MemberState, now: float) -> list[Effect]:
    campaign = member.standing
    assert isinstance(campaign, Campaign)
    if len(campaign.granted_by) >= member.majority:
        if campaign.is_pre_vote:
            return stand(member, now)
        return leading.begin(member, campaign.granted_by, now)
    if campaign.refusal_count > len(member.voters) - member.majority:
        member.fall_back(now)
    return []
