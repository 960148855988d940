"""BrokerHeartbeat: a broker says that it lives, and is told whether it may serve or stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker.api.request import Request
from broker.controller.heartbeat import Heartbeat, HeartbeatAnswer, answer_heartbeat
from broker.metadata.changes import Change
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.quorum import NotLeaderError

if TYPE_CHECKING:
    from broker.node import Node


async def broker_heartbeat(
    node: Node, request: Request[m.BrokerHeartbeatRequest]
) -> m.BrokerHeartbeatResponse:
    body, controller = request.body, node.controller
    beat = Heartbeat(
        broker_id=body.broker_id,
        broker_epoch=body.broker_epoch,
        applied_end=body.current_metadata_offset,
        want_fence=body.want_fence,
        want_shut_down=body.want_shut_down,
        offline_dirs=tuple(body.offline_log_dirs),
    )

    def look() -> HeartbeatAnswer:
        return answer_heartbeat(
            controller.image,
            controller.liveness,
            beat,
            now=asyncio.get_running_loop().time(),
            metadata_end=controller.metadata_end,
            rules_of=controller.rules_of,
        )

    try:
        # Most heartbeats change nothing, and need not wait for a decision that is being made.
        answer = look()
        controller.departures.heard(body.broker_id, request.peer)
        if answer.changes:

            def decide() -> Sequence[Change]:
                nonlocal answer
                answer = look()
                return answer.changes

            await controller.decide(decide)
    except KafkaError as error:
        return m.BrokerHeartbeatResponse(error_code=error.code)
    except NotLeaderError:
        return m.BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
    return m.BrokerHeartbeatResponse(
        is_caught_up=answer.is_caught_up,
        is_fenced=answer.is_fenced,
        should_shut_down=answer.should_shut_down,
    )
