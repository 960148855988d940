"""What a changed configuration means for the partitions, in the same step as the change itself.

With a smaller min.insync.replicas the high watermark moves on without those who were eligible,
so they are eligible no more; with unclean elections allowed, somebody may lead at last.
"""

from __future__ import annotations

from broker.controller.partition_change import next_state
from broker.controller.partition_scan import change_partitions
from broker.controller.topic_rules import RulesOf
from broker.metadata.changes import PartitionsChanged
from broker.metadata.image import Image
from broker.metadata.partition_info import NO_LEADER


def follow_new_rules(image: Image, rules_after: RulesOf) -> list[PartitionsChanged]:
    """`rules_after` are those that hold once the change of the configuration is made."""
    return change_partitions(
        image,
        rules_after,
        lambda info: info.leader == NO_LEADER or bool(info.elr),
        lambda info, rules: next_state(info, rules, image.is_active),
    )
