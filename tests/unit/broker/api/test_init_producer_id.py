"""InitProducerId for idempotent producers; test_transactions.py has the transactional ones."""

import pytest

from broker.api.init_producer_id import init_producer_id
from broker.disk.memory import MemoryDisk
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, running_node


async def init(node: Node, transactional_id: str | None = None) -> m.InitProducerIdResponse:
    body = m.InitProducerIdRequest(transactional_id=transactional_id)
    return await init_producer_id(node, ask(ApiKey.INIT_PRODUCER_ID, body))


async def test_every_producer_gets_its_own_id_also_after_a_restart() -> None:
    disk = MemoryDisk()
    seen: list[int] = []
    for _ in range(2):
        async with running_node(disks={"data": disk}) as node:
            for _ in range(3):
                given = await init(node)
                assert (given.error_code, given.producer_epoch) == (ErrorCode.NONE, 0)
                seen.append(given.producer_id)
    assert len(set(seen)) == 6


async def test_ids_do_not_wait_behind_what_clients_ask_of_the_controller() -> None:
    async with running_node() as node:
        node.forwarding.close()
        node.forwarding._here = _never
        assert (await init(node)).error_code == ErrorCode.NONE


async def _never(api_key: ApiKey, body: object) -> None:
    raise AssertionError(f"{api_key.name} went the clients' way")


async def test_without_a_topic_nobody_coordinates_a_transactional_id() -> None:
    async with running_node() as node:
        given = await init(node, "tx")
        assert given.error_code == ErrorCode.NOT_COORDINATOR
        assert (given.producer_id, given.producer_epoch) == (-1, -1)
        assert (await init(node, "")).error_code == ErrorCode.INVALID_REQUEST


async def test_a_full_disk_gives_no_id_and_may_be_asked_again() -> None:
    disk = MemoryDisk()
    async with running_node(disks={"data": disk}) as node:
        disk.capacity_bytes = 0
        refused = await init(node)
        disk.capacity_bytes = None
        assert ErrorCode(refused.error_code).retriable
        assert (await init(node)).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("producer_id", "epoch", "code"),
    [
        (-1, -1, ErrorCode.NONE),
        (5, 0, ErrorCode.NONE),
        (5, -1, ErrorCode.INVALID_REQUEST),
        (-1, 3, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_an_id_and_its_epoch_come_together(
    producer_id: int, epoch: int, code: ErrorCode
) -> None:
    async with running_node() as node:
        body = m.InitProducerIdRequest(
            transactional_id=None, producer_id=producer_id, producer_epoch=epoch
        )
        given = await init_producer_id(node, ask(ApiKey.INIT_PRODUCER_ID, body))
        assert given.error_code == code
        assert (given.producer_id >= 0) == (code == ErrorCode.NONE)
