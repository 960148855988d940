"""The steps by which a member comes from what it owns to what the target assigns to it.

A member first gives up what it may not keep, and confirms that by a heartbeat that does not list
those partitions any more. Only then it moves to the target's epoch and receives new partitions:
those that no other member holds. A partition is held by a member until that confirmation, so it
never has two owners, and members whose partitions stay with them are not interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from broker.groups.consumer.member import Member, MemberState
from broker.groups.consumer.partitions import NOTHING_HELD, Held, Partitions, overlap
from broker.protocol.errors import ErrorCode, KafkaError


@dataclass(frozen=True, slots=True)
class Goal:
    """Where a member has to get to, and what stands in its way."""

    epoch: int
    target: Partitions
    is_subscribed: Callable[[bytes], bool]
    """Whether the member is subscribed to the topic with this id, and the topic exists."""
    is_held: Callable[[bytes, int], bool]
    """Whether a member holds this partition, be it the member itself."""


def reconcile(
    member: Member, goal: Goal, owned: Partitions | None, *, subscription_changed: bool
) -> Member:
    """The member after its next step; the same object if there is none to take now.

    `owned` is what the member reports to own; None if it does not say. With
    `subscription_changed`, topics it is not subscribed to any more are taken from it at once,
    without waiting for a new target.
    """
    match member.state:
        case MemberState.STABLE:
            if member.epoch != goal.epoch:
                return _advance(member, goal, owned)
            return _unsubscribe(member, goal, owned) if subscription_changed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if not _still_owns(member.revoking, owned):
                return _advance(member, goal, owned)
            return _unsubscribe(member, goal, owned) if subscription_changed else member
        case MemberState.UNRELEASED_PARTITIONS:
            return _advance(member, goal, owned)
        case MemberState.UNKNOWN:
            if owned is None or owned:
                raise KafkaError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "the member is in a state that this broker does not know; "
                    "it must abandon all its partitions and rejoin",
                )
            return _advance(replace(member, epoch=goal.epoch), goal, owned)


def _still_owns(held: Held, owned: Partitions | None) -> bool:
    """A member that does not say what it owns may own everything."""
    return owned is None or overlap(owned, held)


def _advance(member: Member, goal: Goal, owned: Partitions | None) -> Member:
    kept: dict[bytes, dict[int, int]] = {}
    revoking: dict[bytes, dict[int, int]] = {}
    added: dict[bytes, list[int]] = {}
    waits_for_others = False
    for topic_id in sorted({*goal.target, *member.assigned}):
        target = goal.target.get(topic_id, frozenset())
        if not goal.is_subscribed(topic_id):
            target = frozenset()
        for number, epoch in member.assigned.get(topic_id, {}).items():
            (kept if number in target else revoking).setdefault(topic_id, {})[number] = epoch
        for number in sorted(target.difference(kept.get(topic_id, ()))):
            # What the member itself is giving up is free for it: nobody else can hold it.
            is_own = number in member.revoking.get(topic_id, ())
            if is_own or not goal.is_held(topic_id, number):
                added.setdefault(topic_id, []).append(number)
            else:
                waits_for_others = True
    if revoking and _still_owns(revoking, owned):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            revoking=revoking,
        )
    for topic_id, numbers in added.items():
        kept.setdefault(topic_id, {}).update(dict.fromkeys(numbers, goal.epoch))
    waiting, done = MemberState.UNRELEASED_PARTITIONS, MemberState.STABLE
    return replace(
        member,
        state=waiting if waits_for_others else done,
        previous_epoch=member.epoch,
        epoch=goal.epoch,
        assigned=kept,
        revoking=NOTHING_HELD,
    )


def _unsubscribe(member: Member, goal: Goal, owned: Partitions | None) -> Member:
    """Takes away the topics that the member is not subscribed to. Its epoch stays."""
    gone = {topic: held for topic, held in member.assigned.items() if not goal.is_subscribed(topic)}
    if not gone:
        return member
    kept = {topic: held for topic, held in member.assigned.items() if topic not in gone}
    revoking = {topic: dict(held) for topic, held in member.revoking.items()}
    for topic_id, held in gone.items():
        revoking.setdefault(topic_id, {}).update(held)
    if _still_owns(revoking, owned):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            revoking=revoking,
        )
    return replace(member, previous_epoch=member.epoch, assigned=kept)
