"""Whether a replica's log is a beginning of the leader's, asked before its fetch counts."""

from __future__ import annotations

from typing import NamedTuple

from broker.replication.log_view import UNDEFINED_EPOCH, LogView


class ReplicaFetch(NamedTuple):
    """What a follower says of itself when it asks for more."""

    replica: int
    broker_epoch: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int


class Diverging(NamedTuple):
    """The largest epoch here that is not above the follower's last one, and where it ends.

    Both, because the offset alone does not say whose records lie before it (KIP-279).
    """

    epoch: int
    end_offset: int


class OutOfRange(NamedTuple):
    """The leader's log. A follower that ends before its start has to start over there."""

    start_offset: int
    end_offset: int


def check_fetch(
    log: LogView, fetch_offset: int, last_fetched_epoch: int
) -> Diverging | OutOfRange | None:
    """None when the follower may go on from there."""
    if fetch_offset < log.start_offset:
        return OutOfRange(log.start_offset, log.end_offset)
    if last_fetched_epoch != UNDEFINED_EPOCH:
        epoch, end_offset = log.end_offset_for_epoch(last_fetched_epoch)
        if epoch == UNDEFINED_EPOCH:
            return OutOfRange(log.start_offset, log.end_offset)
        if epoch < last_fetched_epoch or end_offset < fetch_offset:
            return Diverging(epoch, end_offset)
        if fetch_offset == log.start_offset and last_fetched_epoch < log.epochs.epoch_at(
            fetch_offset
        ):
            # Who wrote the offset before is not known here any more: it may have been another.
            return Diverging(last_fetched_epoch, fetch_offset)
    if fetch_offset > log.end_offset:
        return OutOfRange(log.start_offset, log.end_offset)
    return None
