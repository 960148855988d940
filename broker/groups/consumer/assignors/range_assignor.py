"""The assignor `range`: for each topic, a run of neighbouring partitions for each member.

Members are taken in one order for all topics, so partition n of every topic with the same number of
partitions and the same subscribers goes to the same member: their records can be joined. The order
is Kafka's: static members by instance id, then dynamic members by member id. A static member
therefore gets the same range after a restart. Nothing else is sticky.
"""

from __future__ import annotations

from broker.groups.consumer.assignors.spec import Assignment, GroupSpec, SubscribedMember


def assign_ranges(spec: GroupSpec) -> Assignment:
    ordered = sorted(spec.members.values(), key=_place_in_line)
    subscribers: dict[bytes, list[str]] = {}
    for member in ordered:
        for topic_id in sorted(member.topics):
            subscribers.setdefault(topic_id, []).append(member.member_id)
    ranges: dict[str, dict[bytes, frozenset[int]]] = {each: {} for each in spec.members}
    for topic_id, member_ids in subscribers.items():
        quota, extra = divmod(spec.partition_counts[topic_id], len(member_ids))
        start = 0
        for place, member_id in enumerate(member_ids):
            end = start + quota + (place < extra)
            if start < end:
                ranges[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return {
        member_id: each.current if each.current == ranges[member_id] else ranges[member_id]
        for member_id, each in spec.members.items()
    }


def _place_in_line(member: SubscribedMember) -> tuple[bool, bytes]:
    """Java compares strings by UTF-16 code units."""
    if member.instance_id is not None:
        return False, member.instance_id.encode("utf-16-be", "surrogatepass")
    return True, member.member_id.encode("utf-16-be", "surrogatepass")
