"""BrokerRegistration: a broker asks the controller for a place in the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.request import HERE, Request
from broker.controller.broker_events import unregister_broker as without_broker
from broker.controller.registration import Registration, register_broker
from broker.log.broker_life import last_life_from_the_wire
from broker.metadata.broker_info import Endpoint
from broker.metadata.changes import Change
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.quorum import NotLeaderError

if TYPE_CHECKING:
    from broker.node import Node


async def broker_registration(
    node: Node, request: Request[m.BrokerRegistrationRequest]
) -> m.BrokerRegistrationResponse:
    body, controller = request.body, node.controller
    if body.cluster_id != node.cluster_id:
        return m.BrokerRegistrationResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    last_life = last_life_from_the_wire(body.previous_broker_epoch)
    wanted = Registration(
        broker_id=body.broker_id,
        incarnation_id=body.incarnation_id,
        endpoints=tuple(
            Endpoint(each.name, each.host, each.port, each.security_protocol)
            for each in body.listeners
        ),
        rack=body.rack,
        log_dirs=tuple(body.log_dirs),
        previous_broker_epoch=last_life.broker_epoch,
        is_unharmed=last_life.is_unharmed,
    )
    epoch = -1

    def decide() -> Sequence[Change]:
        nonlocal epoch
        if request.peer is HERE and not _is_known(node, wanted):
            # The life before this one ended with its process: no other can be in this directory.
            controller.liveness.unregistered(wanted.broker_id)
        registered = register_broker(
            controller.image,
            controller.liveness,
            wanted,
            now=asyncio.get_running_loop().time(),
            metadata_end=controller.metadata_end,
            rules_of=controller.rules_of,
        )
        epoch = registered.broker_epoch
        return registered.changes

    try:
        await controller.decide(decide)
    except KafkaError as error:
        return m.BrokerRegistrationResponse(error_code=error.code)
    except NotLeaderError:
        return m.BrokerRegistrationResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return m.BrokerRegistrationResponse(broker_epoch=epoch)


def _is_known(node: Node, wanted: Registration) -> bool:
    known = node.metadata.image.brokers.get(wanted.broker_id)
    return known is not None and known.incarnation_id == wanted.incarnation_id


async def unregister_broker(
    node: Node, request: Request[m.UnregisterBrokerRequest]
) -> m.UnregisterBrokerResponse:
    """For a broker that will not come back."""
    broker_id, image = request.body.broker_id, node.metadata.image

    def decide() -> Sequence[Change]:
        return without_broker(image, broker_id, node.topic_rules)

    try:
        await node.change(decide)
    except KafkaError as error:
        return m.UnregisterBrokerResponse(error_code=error.code, error_message=error.message)
    return m.UnregisterBrokerResponse(error_message=None)
