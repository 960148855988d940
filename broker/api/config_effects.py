"""What a changed configuration means for the partitions, decided in the same step as the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.controller.rules_change import follow_new_rules
from broker.metadata.changes import Change, ConfigChanged

if TYPE_CHECKING:
    from broker.node import Node

_DECIDE_ON_LEADERS = ("min.insync.replicas", "unclean.leader.election.enable")


def with_effects(node: Node, changes: Sequence[ConfigChanged]) -> Sequence[Change]:
    if not any(change.name in _DECIDE_ON_LEADERS for change in changes):
        return changes
    image = node.metadata.image
    after = image.copy()
    for change in changes:
        after.apply(change)
    return [*follow_new_rules(image, node.rules_in(after)), *changes]
