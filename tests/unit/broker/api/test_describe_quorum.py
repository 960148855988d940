"""DescribeQuorum: any broker tells what the quorum's leader knows, or that there is none."""

from __future__ import annotations

from broker.api.describe_quorum import describe_quorum
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.raft import events as e
from tests.unit.broker.api.nodes import ask, create_topic, running_node


async def described(node: Node) -> m.DescribeQuorumResponse:
    return await describe_quorum(node, ask(ApiKey.DESCRIBE_QUORUM, m.DescribeQuorumRequest()))


async def test_a_node_alone_leads_itself_and_is_level() -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        answer = await described(node)
        assert answer.error_code == 0
        [part] = answer.topics[0].partitions
        assert (part.error_code, part.leader_id, part.leader_epoch) == (0, 1, 1)
        [voter] = part.current_voters
        assert (voter.replica_id, part.observers) == (1, [])
        assert voter.log_end_offset == part.high_watermark == node.quorum.log.end_offset


async def test_without_a_leader_it_says_so() -> None:
    async with running_node() as node:
        await node.quorum.step(e.Resign())
        answer = await described(node)
        assert answer.error_code == ErrorCode.LEADER_NOT_AVAILABLE
        assert answer.error_message == "no controller is known"
