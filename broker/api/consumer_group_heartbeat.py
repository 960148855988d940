"""ConsumerGroupHeartbeat: members of the new group protocol (KIP-848) join, stay and leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.api.join_group import client_of
from broker.api.later import Later, known, reply_of_group
from broker.api.request import Request
from broker.groups.consumer.groups import failed
from broker.groups.consumer.request_check import check_request
from broker.protocol import messages as m
from broker.protocol.errors import KafkaError

if TYPE_CHECKING:
    from broker.node import Node


def consumer_group_heartbeat(
    node: Node, request: Request[m.ConsumerGroupHeartbeatRequest]
) -> Later[m.ConsumerGroupHeartbeatResponse]:
    body, client = request.body, client_of(request)
    request.will_wait()
    try:
        check_request(body, request.version, node.config.group_consumer_assignors)
    except KafkaError as error:
        return known(_failed(error))
    return reply_of_group(
        node,
        body.group_id,
        lambda machine, ticket, now: machine.consumer_group_heartbeat(ticket, body, client, now),
        _failed,
    )


def _failed(error: KafkaError) -> m.ConsumerGroupHeartbeatResponse:
    return failed(error.code, error.message)
