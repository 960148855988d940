"""A controller of one partition: it writes down who leads and who is in sync, and fences.

Whoever leaves an in-sync set below min.insync.replicas stays eligible (KIP-966), unless it has
started again meanwhile: then nobody knows what it has lost.
"""

from __future__ import annotations

from dataclasses import replace

from broker.metadata.broker_info import BrokerInfo
from broker.metadata.partition_info import NO_LEADER, PartitionInfo
from broker.protocol.errors import ErrorCode
from broker.replication.in_sync import IsrProposal


class Controller:
    """`info` and `brokers` are replaced, never changed."""

    def __init__(
        self, nodes: tuple[int, ...], isr: tuple[int, ...], *, min_isr: int, racks: str = ""
    ) -> None:
        self.min_isr = min_isr
        self.info = PartitionInfo(replicas=nodes, isr=isr, leader=isr[0])
        self.brokers: dict[int, BrokerInfo] = {}
        self._epochs_given = 0
        for number, node_id in enumerate(nodes):
            self._put(BrokerInfo(
                broker_id=node_id, incarnation_id=b"", broker_epoch=self._next_epoch(),
                endpoints=(), rack=racks[number : number + 1] or None, fenced=False,
            ))  # fmt: skip

    def _next_epoch(self) -> int:
        self._epochs_given += 1
        return self._epochs_given

    def _put(self, broker: BrokerInfo) -> None:
        self.brokers = {**self.brokers, broker.broker_id: broker}

    def alter_partition(self, sender: int, proposal: IsrProposal) -> PartitionInfo | ErrorCode:
        """Every proposal that is accepted moves the partition epoch, even if it changes nothing."""
        info = self.info
        if proposal.leader_epoch != info.leader_epoch or sender != info.leader:
            return ErrorCode.FENCED_LEADER_EPOCH
        if proposal.partition_epoch != info.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        for member in proposal.isr:
            if not self._may_be_in_sync(member.node_id, member.broker_epoch):
                return ErrorCode.INELIGIBLE_REPLICA
        self._change(self._with_isr(tuple(member.node_id for member in proposal.isr)))
        return replace(self.info, elr=())  # there is no room for it in an answer

    def _may_be_in_sync(self, node_id: int, broker_epoch: int) -> bool:
        broker = self.brokers[node_id]
        if broker_epoch == -1 and node_id in self.info.isr:
            return broker.is_active
        return broker.is_active and broker.broker_epoch == broker_epoch

    def elect(self, node_id: int) -> None:
        """Whether it is allowed is the caller's business."""
        info = self.info
        if node_id not in info.isr:
            elr = tuple(each for each in info.elr if each != node_id)
            is_clean = node_id in info.elr
            info = replace(info, isr=(node_id,), elr=elr if is_clean else ())
        self._change(replace(info, leader=node_id, leader_epoch=info.leader_epoch + 1))

    def fence(self, node_id: int) -> None:
        self._put(replace(self.brokers[node_id], fenced=True))
        kept = tuple(member for member in self.info.isr if member != node_id)
        self._leave(node_id, self._with_isr(kept))

    def register(self, node_id: int) -> int:
        """The broker epoch of a new life. It is fenced until it is let in again."""
        epoch = self._next_epoch()
        self._put(replace(self.brokers[node_id], broker_epoch=epoch, fenced=True))
        kept = tuple(member for member in self.info.isr if member != node_id)
        after = self._with_isr(kept)
        eligible = tuple(each for each in after.elr if each != node_id)
        self._leave(node_id, replace(after, elr=eligible))
        return epoch

    def _leave(self, node_id: int, info: PartitionInfo) -> None:
        if info.leader == node_id:
            self._change(replace(info, leader=NO_LEADER, leader_epoch=info.leader_epoch + 1))
            self._find_leader()
        elif info != self.info:
            self._change(info)

    def unfence(self, node_id: int) -> None:
        self._put(replace(self.brokers[node_id], fenced=False))
        if self.info.leader == NO_LEADER:
            self._find_leader()

    def _find_leader(self) -> None:
        heirs = [m for m in self.info.isr or self.info.elr if self.brokers[m].is_active]
        if heirs:
            self.elect(heirs[0])

    def _with_isr(self, isr: tuple[int, ...]) -> PartitionInfo:
        info = self.info
        elr: tuple[int, ...] = ()
        if len(isr) < min(self.min_isr, len(info.replicas)):
            left = (*info.isr, *info.elr)
            elr = tuple(each for each in info.replicas if each in left and each not in isr)
        return replace(info, isr=isr, elr=elr)

    def _change(self, info: PartitionInfo) -> None:
        self.info = replace(info, partition_epoch=self.info.partition_epoch + 1)
