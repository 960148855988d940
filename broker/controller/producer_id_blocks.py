"""Hands out blocks of producer ids, each of them once ever, whoever is controller (I08)."""

from __future__ import annotations

from dataclasses import dataclass

from broker.metadata.changes import ProducerIdsAllocated
from broker.metadata.image import Image
from broker.protocol.errors import ErrorCode, KafkaError

BLOCK = 1000
_LAST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """To be handed out only when the change is committed: it says where the next block begins."""

    first: int
    count: int
    change: ProducerIdsAllocated


def allocate_producer_ids(image: Image) -> ProducerIdBlock:
    first = image.next_producer_id
    if first > _LAST_ID - BLOCK:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "there are no producer ids left")
    return ProducerIdBlock(first, BLOCK, ProducerIdsAllocated(first + BLOCK))
