"""Carries leaders' proposals for other in-sync replicas to the controller: AlterPartition."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from broker.partition import Partition
from broker.peers.backoff import Backoff
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.replication.in_sync import IsrProposal
from broker.to_controller import ToController

_log = logging.getLogger(__name__)

_AT_ONCE = 500
"""Partitions in one request. A leader of thousands would keep itself and the controller busy."""

_Key = tuple[bytes, int]
_Proposed = tuple[Partition, IsrProposal]


class IsrProposals:
    """One request at a time, with what was proposed meanwhile."""

    def __init__(
        self,
        node_id: int,
        to_controller: ToController,
        *,
        broker_epoch: Callable[[], int | None],
        timeout_s: float,
        backoff: Backoff,
    ) -> None:
        self._node_id = node_id
        self._to_controller = to_controller
        self._broker_epoch = broker_epoch
        self._timeout_s = timeout_s
        self._backoff = backoff
        self._pending: dict[_Key, _Proposed] = {}
        self._something = asyncio.Event()

    def propose(self, partition: Partition, proposal: IsrProposal) -> None:
        self._pending[partition.topic_id, partition.index] = (partition, proposal)
        self._something.set()

    async def run(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            pending = self._next()
            if pending and not await self._send(pending):
                await asyncio.sleep(self._backoff.next_s())
            else:
                self._backoff.reset()

    def _next(self) -> dict[_Key, _Proposed]:
        """The oldest of those that are still wanted."""
        pending: dict[_Key, _Proposed] = {}
        for key, (partition, proposal) in list(self._pending.items()):
            if len(pending) == _AT_ONCE:
                self._something.set()
                break
            del self._pending[key]
            if partition.is_in_flight(proposal):
                pending[key] = (partition, proposal)
        return pending

    async def _send(self, pending: Mapping[_Key, _Proposed]) -> bool:
        """Whether all was answered. What was not is proposed again."""
        epoch = self._broker_epoch()
        try:
            if epoch is None:
                raise UnansweredError("this broker is not registered")
            answer: m.AlterPartitionResponse = await self._to_controller.ask(
                ApiKey.ALTER_PARTITION, self._request(pending, epoch), timeout_s=self._timeout_s
            )
        except UnansweredError as problem:
            _log.debug("AlterPartition: %s", problem)
            return self._refuse(pending, ErrorCode.REQUEST_TIMED_OUT)
        if answer.error_code:
            return self._refuse(pending, ErrorCode(answer.error_code))
        left = dict(pending)
        all_is_well = True
        for topic in answer.topics:
            for part in topic.partitions:
                proposed = left.pop((topic.topic_id, part.partition_index), None)
                if proposed is not None:
                    all_is_well &= self._take(*proposed, part)
        return self._refuse(left, ErrorCode.OPERATION_NOT_ATTEMPTED) and all_is_well

    def _take(
        self,
        partition: Partition,
        proposal: IsrProposal,
        part: m.AlterPartitionResponsePartitionData,
    ) -> bool:
        if part.error_code:
            return self._refuse_one(partition, proposal, ErrorCode(part.error_code))
        if partition.leader is not None:
            answered = replace(
                partition.leader.info,
                leader=part.leader_id,
                leader_epoch=part.leader_epoch,
                isr=tuple(part.isr),
                leader_recovery_state=part.leader_recovery_state,
                partition_epoch=part.partition_epoch,
            )
            partition.proposal_accepted(proposal, answered)
        return True

    def _refuse(self, pending: Mapping[_Key, _Proposed], error: ErrorCode) -> bool:
        answered = [self._refuse_one(*proposed, error) for proposed in pending.values()]
        return all(answered)

    def _refuse_one(self, partition: Partition, proposal: IsrProposal, error: ErrorCode) -> bool:
        again = partition.proposal_refused(proposal, error)
        if again is None:
            return True
        self.propose(partition, again)
        return False

    def _request(self, pending: Mapping[_Key, _Proposed], epoch: int) -> m.AlterPartitionRequest:
        topics: dict[bytes, m.AlterPartitionRequestTopicData] = {}
        for (topic_id, index), (_, proposal) in pending.items():
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = m.AlterPartitionRequestTopicData(
                    topic_id=topic_id, partitions=[]
                )
            members = [
                m.BrokerState(broker_id=member.node_id, broker_epoch=member.broker_epoch)
                for member in proposal.isr
            ]
            topic.partitions.append(
                m.AlterPartitionRequestPartitionData(
                    partition_index=index,
                    leader_epoch=proposal.leader_epoch,
                    new_isr_with_epochs=members,
                    partition_epoch=proposal.partition_epoch,
                )
            )
        return m.AlterPartitionRequest(
            broker_id=self._node_id, broker_epoch=epoch, topics=list(topics.values())
        )
