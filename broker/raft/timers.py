"""When a member has to look at the clock, and what it does then."""

from __future__ import annotations

from math import inf

from broker.raft import elections, leading
from broker.raft.effects import Effect
from broker.raft.member_state import MemberState
from broker.raft.roles import Campaign, Follower, Leader, Resigned, Unattached


def wake_at(member: MemberState) -> float:
    match member.standing:
        case Leader() as leader:
            return leading.wake_at(member, leader)
        case Campaign(deadline=deadline):
            return deadline
        case Unattached(deadline) | Follower(deadline=deadline) | Resigned(deadline):
            stands = member.is_voter and not member.stopping
            return deadline if stands or not member.is_voter else inf


def on_time_passed(member: MemberState, now: float) -> list[Effect]:
    if now < wake_at(member):
        return []
    match member.standing:
        case Leader() as leader:
            return leading.on_time_passed(member, leader, now)
        case Campaign():
            member.fall_back(now)
            return []
        case Follower() if not member.is_voter:
            member.ask_around()
            return []
        case Unattached() | Follower() | Resigned():
            return elections.ask_whether_to_stand(member, now)
