"""When a member has to look at the clock, and what it does then."""

from __future__ import annotations

from math import inf

from broker.raft import elections, leading
from broker.raft.effects import Effect
from broker.raft.quorum import Quorum
from broker.raft.roles import Campaign, Follower, Leader, Resigned, Unattached


def wake_at(quorum: Quorum) -> float:
    match quorum.standing:
        case Leader() as leader:
            return leading.wake_at(quorum, leader)
        case Campaign(deadline=deadline):
            return deadline
        case Unattached(deadline) | Follower(deadline=deadline) | Resigned(deadline):
            stands = quorum.is_voter and not quorum.stopping
            return deadline if stands or not quorum.is_voter else inf


def on_time_passed(quorum: Quorum, now: float) -> list[Effect]:
    if now < wake_at(quorum):
        return []
    match quorum.standing:
        case Leader() as leader:
            return leading.on_time_passed(quorum, leader, now)
        case Campaign():
            quorum.fall_back(now)
            return []
        case Follower() if not quorum.is_voter:
            quorum.ask_around()
            return []
        case Unattached() | Follower() | Resigned():
            return elections.ask_whether_to_stand(quorum, now)
