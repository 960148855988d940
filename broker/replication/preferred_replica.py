"""Which replica a consumer should read from: one in its own rack (KIP-392)."""

from __future__ import annotations

from broker.replication.leader import LeaderState


def preferred_replica(
    leader: LeaderState, *, own_rack: str | None, client_rack: str | None, fetch_offset: int
) -> int | None:
    """None stands for the leader.

    Only members of the in-sync set that are not fenced: whoever has fallen behind would keep its
    readers behind, or show them no progress at all (KAFKA-15390).
    """
    if not client_rack or client_rack == own_rack:
        return None
    near = [
        follower
        for node_id in leader.isr
        if (follower := leader.followers.get(node_id)) is not None
        and follower.rack == client_rack
        and follower.may_be_in_sync
        and follower.log_start <= fetch_offset <= follower.log_end
    ]
    if not near:
        return None
    return max(near, key=lambda each: (each.log_end, each.caught_up_at, -each.node_id)).node_id
