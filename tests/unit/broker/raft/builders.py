"""Members of a quorum in a given position, for tests of single rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker.raft.effects import Answer, Effect, Reply
from broker.raft.events import (
    BeginEpochRequested,
    QuorumState,
    TimePassed,
    VoteAnswer,
    VoteAnswered,
)
from broker.raft.machine import Raft
from broker.raft.member_state import QuorumTimeouts
from broker.raft.roles import Role
from tests.unit.broker.raft.memory_log import MemoryLog, Record

TIMEOUTS = QuorumTimeouts(election_s=1.0, fetch_s=2.0, backoff_max_s=1.0)


def log_of(*epochs: int) -> MemoryLog:
    """One record for each epoch, all of them flushed."""
    return MemoryLog(Record(epoch, f"r{offset}") for offset, epoch in enumerate(epochs))


def member(
    node_id: int = 1,
    *,
    voters: Sequence[int] = (1, 2, 3),
    state: QuorumState | None = None,
    log: MemoryLog | None = None,
    draw: Callable[[], float] = lambda: 0.0,
) -> Raft:
    log = MemoryLog() if log is None else log
    state = QuorumState(log.last_epoch) if state is None else state
    return Raft(node_id, voters, state, log, TIMEOUTS, draw, now=0.0)


def leader_of(log: MemoryLog, *, voters: Sequence[int] = (1, 2, 3), now: float = 10.0) -> Raft:
    """Node 1, elected at `now`, with its leader-change record written and flushed."""
    raft = member(log=log, voters=voters)
    raft.step(TimePassed(), now)
    for is_pre_vote in (True, False):
        for voter in voters[1 : len(voters) // 2 + 1]:
            yes = VoteAnswer(raft.epoch, None, granted=True)
            raft.step(VoteAnswered(voter, raft.epoch, is_pre_vote, yes), now)
    assert raft.role is Role.LEADER
    log.append([Record(raft.epoch, "leader")])
    log.flush()
    return raft


def follower_of(leader_id: int, log: MemoryLog, *, epoch: int = 5, now: float = 10.0) -> Raft:
    """Node 1, which was told of its leader at `now`."""
    raft = member(log=log)
    raft.step(BeginEpochRequested(0, epoch, leader_id), now)
    assert raft.role is Role.FOLLOWER
    return raft


def answer_in(effects: Sequence[Effect]) -> Answer:
    (reply,) = (effect for effect in effects if isinstance(effect, Reply))
    return reply.answer
