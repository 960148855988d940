"""A cooperative assignor in a few lines: what a leader does with the bytes that the broker carries.

Metadata is `GENERATION:PARTITIONS` in a story, such as `3:p0,p1`: what the member owns, and since
which generation it knows that (the field of KIP-792). A partition moves in two rebalances: in the
first its owner is not given it any more, in the second, when nobody owns it, another one gets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def owned(metadata: str) -> tuple[int, list[str]]:
    generation, _, partitions = metadata.partition(":")
    return int(generation), [each for each in partitions.split(",") if each]


def assign(members: Mapping[str, str], partitions: Sequence[str]) -> dict[str, list[str]]:
    """What each member is given, by its metadata."""
    owner_of = _owners(members)
    share, extra = divmod(len(partitions), len(members))
    given: dict[str, list[str]] = {}
    for number, member in enumerate(members):
        mine = [each for each in partitions if owner_of.get(each) == member]
        given[member] = mine[: share + (number < extra)]
    free = [each for each in partitions if each not in owner_of]
    for number, member in enumerate(members):
        while free and len(given[member]) < share + (number < extra):
            given[member].append(free.pop(0))
    return given


def _owners(members: Mapping[str, str]) -> dict[str, str]:
    """Of two that claim a partition, the one with the later generation has it (KAFKA-12984)."""
    claims: dict[str, tuple[int, str]] = {}
    for member, metadata in members.items():
        generation, mine = owned(metadata)
        for each in mine:
            if each not in claims or claims[each][0] < generation:
                claims[each] = generation, member
    return {partition: member for partition, (_, member) in claims.items()}
