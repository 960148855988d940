"""Groups for tests of assignors: topics by letter, members by name."""

from __future__ import annotations

from collections.abc import Mapping

from broker.groups.consumer.assignors.spec import Assignment, GroupSpec, SubscribedMember
from broker.groups.consumer.partitions import NO_PARTITIONS


def topic(letter: str) -> bytes:
    return letter.encode() * 16


def group(
    counts: Mapping[str, int],
    subscriptions: Mapping[str, str],
    current: Assignment | None = None,
    instances: Mapping[str, str] | None = None,
) -> GroupSpec:
    """`subscriptions` has the letters of each member's topics."""
    return GroupSpec(
        {
            member_id: SubscribedMember(
                member_id,
                (instances or {}).get(member_id),
                frozenset(topic(each) for each in letters if each in counts),
                (current or {}).get(member_id, NO_PARTITIONS),
            )
            for member_id, letters in subscriptions.items()
        },
        {topic(letter): count for letter, count in counts.items()},
    )


def plain(assignment: Assignment) -> dict[str, str]:
    """An assignment in short: `a0 a1 b0`."""
    return {
        member_id: " ".join(
            f"{chr(topic_id[0])}{number}"
            for topic_id in sorted(partitions)
            for number in sorted(partitions[topic_id])
        )
        for member_id, partitions in assignment.items()
    }


def check(spec: GroupSpec, assignment: Assignment) -> None:
    """Every partition with a subscriber has exactly one owner, which is subscribed."""
    assert assignment.keys() == spec.members.keys()
    owned = [
        (topic_id, number)
        for partitions in assignment.values()
        for topic_id, numbers in partitions.items()
        for number in numbers
    ]
    assert len(owned) == len(set(owned))
    subscribed = {topic_id for member in spec.members.values() for topic_id in member.topics}
    assert set(owned) == {
        (topic_id, number)
        for topic_id in subscribed
        for number in range(spec.partition_counts[topic_id])
    }
    for member_id, partitions in assignment.items():
        assert partitions.keys() <= spec.members[member_id].topics


def sizes(assignment: Assignment) -> dict[str, int]:
    return {each: sum(map(len, partitions.values())) for each, partitions in assignment.items()}


def moved(before: Assignment, after: Assignment) -> int:
    """Partitions that have another owner than before, of those that had one."""
    owners = {
        (topic_id, number): member_id
        for member_id, partitions in after.items()
        for topic_id, numbers in partitions.items()
        for number in numbers
    }
    return sum(
        owners.get((topic_id, number), member_id) != member_id
        for member_id, partitions in before.items()
        for topic_id, numbers in partitions.items()
        for number in numbers
    )
