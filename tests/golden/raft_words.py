"""How transcripts of the quorum put events and effects into words: one short line each."""

from __future__ import annotations

from collections.abc import Sequence

from broker.raft import effects as e
from broker.raft import events as v
from tests.unit.broker.raft.memory_log import MemoryLog, Record


def name(node_id: int | None) -> str:
    return "nobody" if node_id is None else f"n{node_id}"


def names(node_ids: Sequence[int]) -> str:
    return " ".join(map(name, node_ids))


def records(them: Sequence[Record]) -> str:
    """As epoch:value."""
    return " ".join(f"{epoch}:{value}" for epoch, value in them)


def log(it: MemoryLog) -> str:
    parts = [f"({it.start_offset} in a snapshot)"] if it.start_offset else []
    flushed = it.flushed_offset - it.start_offset
    parts += [records([record]) for record in it.records[:flushed]]
    parts += [f"{records([record])}?" for record in it.records[flushed:]]
    return " ".join(parts) or "empty"


def vote(ask: e.AskVote) -> str:
    question = "would you vote for me?" if ask.is_pre_vote else "vote for me!"
    return f"{question} epoch {ask.epoch}, my log ends at {ask.last_offset} of {ask.last_epoch}"


def answer(it: e.Answer, carried: Sequence[Record]) -> str:
    if it.error:
        return f"{it.error.name}: epoch {it.epoch}, led by {name(it.leader_id)}"
    match it:
        case v.VoteAnswer():
            word = "yes" if it.granted else "no"
            return f"{word}: epoch {it.epoch}, led by {name(it.leader_id)}"
        case v.EpochAnswer():
            return f"very well: epoch {it.epoch}"
        case v.FetchAnswer():
            return _fetched(it, carried)


def _fetched(it: v.FetchAnswer, carried: Sequence[Record]) -> str:
    if it.diverging is not None:
        return f"we part: my epoch {it.diverging.epoch} ends at {it.diverging.end_offset}"
    if it.snapshot_id is not None:
        return f"too old: take my snapshot {snapshot(it.snapshot_id)}"
    said = f"committed {it.high_watermark}"
    return f"{records(carried)}, {said}" if carried else f"nothing new, {said}"


def snapshot(it: v.SnapshotId) -> str:
    return f"of {it.end_offset}, epoch {it.epoch}"


def effect(it: e.Effect) -> str:
    """Of those effects that the node keeps to itself."""
    match it:
        case e.Persist(state):
            vote, leader = name(state.voted_for), name(state.leader_id)
            return f"on disk: epoch {state.epoch}, voted for {vote}, led by {leader}"
        case e.RoleChanged(role, epoch, leader_id):
            of = f" of {name(leader_id)}" if role.value == "follower" else ""
            return f"{role.value}{of} in epoch {epoch}"
        case e.TruncateTo(offset):
            return f"cuts its log to {offset}"
        case e.InstallSnapshot(snapshot_id):
            return f"starts over with the snapshot {snapshot(snapshot_id)}"
        case e.HighWatermarkAdvanced(offset):
            return f"committed {offset}"
        case _:
            raise ValueError(f"{it} is no effect that a node keeps to itself")
