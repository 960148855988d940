"""UnregisterBroker: for a broker that will not come back."""

from __future__ import annotations

from broker.api.broker_registration import unregister_broker
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, running_node
from tests.unit.broker.api.other_brokers import beat, let_in, register


async def unregister(node: Node, broker_id: int) -> int:
    body = m.UnregisterBrokerRequest(broker_id=broker_id)
    return (await unregister_broker(node, ask(ApiKey.UNREGISTER_BROKER, body))).error_code


async def test_it_is_forgotten_and_its_epoch_is_never_given_again() -> None:
    async with running_node() as node:
        epoch = await let_in(node, 2)
        assert await unregister(node, 2) == ErrorCode.NONE
        assert 2 not in node.metadata.image.brokers
        answer = await beat(node, 2, epoch)
        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
        code, later = await register(node, 2, b"j" * 16)
        assert (code, later > epoch) == (ErrorCode.NONE, True)


async def test_a_broker_that_nobody_knows_cannot_be_forgotten() -> None:
    async with running_node() as node:
        assert await unregister(node, 9) == ErrorCode.BROKER_ID_NOT_REGISTERED
