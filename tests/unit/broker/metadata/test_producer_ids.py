"""No producer id is handed out twice, and none that was not given to this node."""

import asyncio

import pytest

from broker.metadata.producer_ids import Block, ProducerIds
from broker.protocol.errors import ErrorCode, KafkaError

SIZE = 10


class Controller:
    """Gives blocks that follow each other, to whoever asks, unless it is out of reach."""

    def __init__(self) -> None:
        self.next_first = 0
        self.is_reachable = True

    async def allocate(self) -> Block:
        await asyncio.sleep(0)
        if not self.is_reachable:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        first = self.next_first
        self.next_first += SIZE
        return Block(first, SIZE)


async def test_ids_rise_across_blocks() -> None:
    ids = ProducerIds(Controller().allocate)
    handed_out = [await ids.next() for _ in range(SIZE + 5)]
    assert handed_out == list(range(SIZE + 5))


async def test_an_id_is_never_handed_out_again_after_a_crash() -> None:
    controller = Controller()
    handed_out = []
    for _ in range(3):
        ids = ProducerIds(controller.allocate)
        handed_out += [await ids.next() for _ in range(3)]
    assert handed_out == [0, 1, 2, 10, 11, 12, 20, 21, 22]


async def test_askers_at_the_same_time_get_different_ids() -> None:
    controller = Controller()
    ids = ProducerIds(controller.allocate)
    handed_out = await asyncio.gather(*(ids.next() for _ in range(2 * SIZE)))
    assert sorted(handed_out) == list(range(2 * SIZE))
    assert controller.next_first == 2 * SIZE


async def test_without_a_controller_nothing_is_handed_out() -> None:
    controller = Controller()
    ids = ProducerIds(controller.allocate)
    controller.is_reachable = False
    with pytest.raises(KafkaError):
        await ids.next()
    controller.is_reachable = True
    assert await ids.next() == 0
