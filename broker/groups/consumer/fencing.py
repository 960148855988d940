"""Members that leave, or are thrown out because they were silent or too slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer import group_records
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import Member


def fence(group: ConsumerGroup, members: Sequence[Member], now: Now) -> list[CoordinatorRecord]:
    """The records that remove members, and begin an epoch without them.

    If only members of the classic protocol stay, the group may become a classic group instead.
    """
    if not members:
        return []
    converted = group.around.downgrade(group, members, now)
    if converted is not None:
        return converted
    group_id, state = group.group_id, group.state
    records = [
        each for member in members for each in group_records.no_member(group_id, member.member_id)
    ]
    leaving = Counter(member.topic_regex for member in members if member.topic_regex)
    unused = [
        regex
        for regex, count in leaving.items()
        if state.subscriptions.members_with(regex) == count
    ]
    records += [group_records.no_regex(group_id, regex) for regex in unused]
    names = state.subscriptions.names_after(leaving=members, resolved=dict.fromkeys(unused))
    hashed = state.metadata_hash
    if names is not None or group.needs_metadata_check:
        hashed = group.around.hashes.of(state.subscriptions.names if names is None else names)
    records.append(group_records.group_epoch(group_id, state.epoch + 1, hashed))
    return records
