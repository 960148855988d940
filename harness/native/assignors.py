"""How the leader of a classic group deals out partitions. Pure functions.

`range_assignment` gives each member a stretch of each topic's partitions. `cooperative_assignment`
moves as little as it can, in two rounds: a partition that its owner has to give up goes to nobody
until the owner has joined again without it (KIP-429).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Slot = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a member says when it joins."""

    topics: tuple[str, ...]
    owned: tuple[Slot, ...] = ()
    generation: int = -1
    """Generation in which it was given what it owns."""


def range_assignment(
    claims: Mapping[str, Claim], counts: Mapping[str, int]
) -> dict[str, list[Slot]]:
    """`counts`: partitions of each topic. Members in the order of their names."""
    found: dict[str, list[Slot]] = {member: [] for member in sorted(claims)}
    for topic in sorted(counts):
        members = [member for member in found if topic in claims[member].topics]
        for at, member in enumerate(members):
            first = at * counts[topic] // len(members)
            last = (at + 1) * counts[topic] // len(members)
            found[member] += [(topic, index) for index in range(first, last)]
    return found


def cooperative_assignment(
    claims: Mapping[str, Claim], counts: Mapping[str, int]
) -> dict[str, list[Slot]]:
    """What each member has after this round."""
    owners = _owners(claims, counts)
    target = _sticky(claims, counts, owners)
    return {
        member: [slot for slot in slots if owners.get(slot, member) == member]
        for member, slots in target.items()
    }


def _owners(claims: Mapping[str, Claim], counts: Mapping[str, int]) -> dict[Slot, str]:
    """Of two claims to one partition the one of the later generation counts: a member that missed
    a generation does not know what it has lost (KAFKA-12984). Of two of one generation, none."""
    best: dict[Slot, tuple[int, str | None]] = {}
    for member in sorted(claims):
        claim = claims[member]
        for slot in claim.owned:
            if slot[0] not in claim.topics or slot[1] >= counts.get(slot[0], 0):
                continue
            generation, owner = best.get(slot, (-2, None))
            if claim.generation > generation:
                best[slot] = (claim.generation, member)
            elif claim.generation == generation and owner is not None:
                best[slot] = (generation, None)
    return {slot: owner for slot, (_, owner) in best.items() if owner is not None}


def _sticky(
    claims: Mapping[str, Claim], counts: Mapping[str, int], owners: Mapping[Slot, str]
) -> dict[str, list[Slot]]:
    """Balanced to within one where all members subscribe to the same topics."""
    members = sorted(claims)
    slots = [(topic, index) for topic in sorted(counts) for index in range(counts[topic])]
    most = -(-len(slots) // len(members))
    found: dict[str, list[Slot]] = {member: [] for member in members}
    left: list[Slot] = []
    larger = len(slots) % len(members) or len(members)
    for slot in slots:
        owner = owners.get(slot)
        if owner is None or not _may_keep(found, owner, most, larger):
            left.append(slot)
        else:
            found[owner].append(slot)
    for slot in left:
        takers = [member for member in members if slot[0] in claims[member].topics]
        if takers:
            found[_least(takers, found)].append(slot)
    return found


def _may_keep(found: Mapping[str, Sequence[Slot]], owner: str, most: int, larger: int) -> bool:
    """At most `larger` members may have `most` partitions, the others one less."""
    have = len(found[owner])
    if have + 1 < most:
        return True
    full = sum(len(slots) >= most for slots in found.values())
    return have + 1 == most and full < larger


def _least(members: Sequence[str], found: Mapping[str, Sequence[Slot]]) -> str:
    return min(members, key=lambda member: (len(found[member]), member))
