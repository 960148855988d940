"""ElectLeaders: gives leadership back to the preferred replica, or to whoever is left."""

from __future__ import annotations

from enum import IntEnum

from broker.controller.partition_change import Election, next_state
from broker.controller.partition_scan import find_partition
from broker.controller.topic_rules import RulesOf
from broker.metadata.changes import PartitionsChanged
from broker.metadata.image import Image
from broker.metadata.partition_info import NO_LEADER
from broker.protocol.errors import ErrorCode, KafkaError


class ElectionType(IntEnum):
    """Kafka's numbers."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_leader(
    image: Image, name: str, index: int, kind: ElectionType, rules_of: RulesOf
) -> PartitionsChanged:
    """Raises KafkaError, also when there is nothing to do."""
    topic, old = find_partition(image, name, index)
    preferred = old.replicas[0]
    is_preferred = kind is ElectionType.PREFERRED
    if old.leader == preferred if is_preferred else old.leader != NO_LEADER:
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED, f"broker {old.leader} leads already")
    info = next_state(
        old,
        rules_of(name),
        image.is_active,
        election=Election.PREFERRED if is_preferred else Election.UNCLEAN,
    )
    if is_preferred and (info is None or info.leader != preferred):
        raise KafkaError(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            f"broker {preferred} is not in sync: the ISR is {list(old.isr)}",
        )
    if info is None or info.leader == NO_LEADER:
        raise KafkaError(
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
            f"none of the replicas {list(old.replicas)} is there",
        )
    return PartitionsChanged(name, topic.topic_id, ((index, info),))
