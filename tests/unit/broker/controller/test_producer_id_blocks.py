"""Blocks of producer ids: none of them twice, whatever happens to controllers."""

import pytest

from broker.controller.producer_id_blocks import BLOCK, allocate_producer_ids
from broker.metadata.changes import ProducerIdsAllocated
from broker.metadata.image import ConflictError, Image
from broker.protocol.errors import KafkaError


def test_blocks_follow_each_other() -> None:
    image = Image()
    firsts = []
    for _ in range(3):
        block = allocate_producer_ids(image)
        image.apply(block.change)
        firsts.append((block.first, block.count))
    assert firsts == [(0, BLOCK), (BLOCK, BLOCK), (2 * BLOCK, BLOCK)]


def test_a_block_that_was_decided_twice_is_committed_once() -> None:
    image = Image()
    one, other = allocate_producer_ids(image), allocate_producer_ids(image)
    image.apply(one.change)
    with pytest.raises(ConflictError):
        image.apply(other.change)


def test_the_last_ids_are_not_handed_out_in_part() -> None:
    image = Image()
    image.apply(ProducerIdsAllocated(2**63 - BLOCK))
    with pytest.raises(KafkaError, match="no producer ids left"):
        allocate_producer_ids(image)
