"""Other brokers of a cluster, as far as the controller knows them: they register and they beat."""

from __future__ import annotations

from broker.api.broker_heartbeat import broker_heartbeat
from broker.api.broker_registration import broker_registration
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from tests.unit.broker.api.nodes import CLUSTER_ID, ask


async def register(node: Node, broker_id: int, incarnation: bytes = b"i" * 16) -> tuple[int, int]:
    """The error of the answer, and the broker's epoch."""
    listener = m.BrokerRegistrationRequestListener(
        name="PLAINTEXT", host="elsewhere", port=9092, security_protocol=0
    )
    body = m.BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=incarnation,
        listeners=[listener],
        rack=None,
        previous_broker_epoch=-1,
    )
    answer = await broker_registration(node, ask(ApiKey.BROKER_REGISTRATION, body))
    return answer.error_code, answer.broker_epoch


async def beat(
    node: Node, broker_id: int, epoch: int, *, wants_to_stop: bool = False
) -> m.BrokerHeartbeatResponse:
    body = m.BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=epoch,
        current_metadata_offset=node.metadata.applied_offset,
        want_fence=False,
        want_shut_down=wants_to_stop,
    )
    return await broker_heartbeat(node, ask(ApiKey.BROKER_HEARTBEAT, body))


async def let_in(node: Node, broker_id: int) -> int:
    """Its epoch."""
    code, epoch = await register(node, broker_id)
    assert code == 0
    assert not (await beat(node, broker_id, epoch)).is_fenced
    return epoch
