"""AllocateProducerIds: a broker asks the controller for a block of ids that nobody else has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.controller.broker_events import current_broker
from broker.controller.producer_id_blocks import ProducerIdBlock
from broker.controller.producer_id_blocks import allocate_producer_ids as allocated
from broker.metadata.changes import Change
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.quorum import NotLeaderError

if TYPE_CHECKING:
    from broker.node import Node


async def allocate_producer_ids(
    node: Node, request: Request[m.AllocateProducerIdsRequest]
) -> m.AllocateProducerIdsResponse:
    body, controller = request.body, node.controller
    block: ProducerIdBlock | None = None

    def decide() -> Sequence[Change]:
        nonlocal block
        current_broker(controller.image, body.broker_id, body.broker_epoch)
        block = allocated(controller.image)
        return [block.change]

    try:
        await controller.decide(decide)
    except KafkaError as error:
        return m.AllocateProducerIdsResponse(error_code=error.code)
    except NotLeaderError:
        return m.AllocateProducerIdsResponse(error_code=ErrorCode.NOT_CONTROLLER)
    assert block is not None
    return m.AllocateProducerIdsResponse(producer_id_start=block.first, producer_id_len=block.count)
