"""W-OWN: a partition has at most one owner in a consumer group, and the table of owners knows it.

Asked of every coordinator that is settled, whenever something was written to its log:

* no partition is held by two members; a member holds what it was assigned and what it has not
  confirmed to have given up (KIP-848);
* the table by which the coordinator decides whether a partition is free names the holder of each
  partition that is held (KAFKA-16147 lost entries of this table, and a second owner came later);
* no member is in a later epoch than its group;
* in a stable group every member holds its target, and nothing else.

Members of a classic group assign among themselves, and the coordinator only carries the bytes:
their ownership is judged from the history, by the checker `two-owners`.
"""

from __future__ import annotations

from broker.inspect import Node, SeenGroup, has_topic
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.step import Step

Slot = tuple[str, int]

_CONSUMER = "consumer"
_STABLE = "Stable"


class OneOwner:
    name = "W-OWN"
    cost = Cost.EXPENSIVE

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for replica, shard in step.coordinators():
            for group in shard.state.groups:
                if group.kind != _CONSUMER or not group.members:
                    continue
                self.looks += 1
                problem = _shared(group) or _ahead(group)
                if problem is None and group.state == _STABLE:
                    problem = _off_target(group, step.scene.process(replica.node))
                if problem is not None:
                    return step.broken(self.name, f"{replica}: group {group.group_id}: {problem}")
        return None


def _shared(group: SeenGroup) -> str | None:
    owners: dict[Slot, str] = {}
    for member in group.members:
        for slot in member.partitions:
            other = owners.setdefault(slot, member.member_id)
            if other != member.member_id:
                return f"{_words(slot)} is held by {other} and by {member.member_id}"
    for slot, owner in owners.items():
        known = group.holders.get(slot)
        if known != owner:
            told = "nobody" if known is None else known
            return f"{_words(slot)} is held by {owner}, and the table of owners names {told}"
    for slot, known in group.holders.items():
        if slot not in owners:
            return f"the table of owners names {known} for {_words(slot)}, which nobody holds"
    return None


def _ahead(group: SeenGroup) -> str | None:
    for member in group.members:
        if member.epoch > group.epoch:
            return f"{member.member_id} is in epoch {member.epoch}, the group in {group.epoch}"
    return None


def _off_target(group: SeenGroup, node: Node | None) -> str | None:
    """A topic that was deleted stays in the target until the next epoch, and nobody holds it."""
    for member in group.members:
        for slot in sorted({*member.target}.symmetric_difference(member.partitions)):
            if slot in member.partitions:
                return f"it is stable, and {member.member_id} holds {_words(slot)}, not its target"
            if node is not None and has_topic(node, slot[0]):
                return f"it is stable, and {member.member_id} lacks {_words(slot)} of its target"
    return None


def _words(slot: Slot) -> str:
    topic_id, partition = slot
    return f"partition {partition} of {topic_id[:8]}"
