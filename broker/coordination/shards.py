"""The shards of one internal topic on this node: one for each partition that it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Generic

from broker.coordination.shard import MachineT, Shard, Surroundings
from broker.coordination.step import Now, Step, Ticket
from broker.partition import Partition
from broker.protocol.errors import ErrorCode, KafkaError


class Shards(Generic[MachineT]):
    def __init__(
        self, topic: str, make_machine: Callable[[], MachineT], around: Callable[[], Surroundings]
    ) -> None:
        """`around` is asked for each new shard: a node knows its surroundings only when it runs."""
        self.topic = topic
        self._make_machine = make_machine
        self._around = around
        self._shards: dict[int, Shard[MachineT]] = {}

    def __iter__(self) -> Iterator[tuple[int, Shard[MachineT]]]:
        """By partition, sorted."""
        return iter(sorted(self._shards.items()))

    def find(self, index: int) -> Shard[MachineT] | None:
        return self._shards.get(index)

    def role_changed(self, partition: Partition, is_held: bool) -> None:
        """Begins and ends shards: a leader epoch has one of its own."""
        if partition.topic != self.topic:
            return
        shard = self._shards.get(partition.index)
        leads = is_held and partition.leader is not None
        if shard is not None:
            if leads and shard.partition is partition and partition.leads_in(shard.leader_epoch):
                return
            shard.close()
            del self._shards[partition.index]
        if leads:
            self._shards[partition.index] = Shard(partition, self._make_machine, self._around())

    def ask(self, index: int, run: Callable[[MachineT, Ticket, Now], Step]) -> asyncio.Future[Any]:
        """As `Shard.ask`, of the shard of that partition."""
        return self._of(index).ask(run)

    def ask_alone(
        self, index: int, run: Callable[[MachineT, Ticket, Now], Step]
    ) -> asyncio.Future[Any]:
        """As `Shard.ask_alone`, of the shard of that partition."""
        return self._of(index).ask_alone(run)

    def _of(self, index: int) -> Shard[MachineT]:
        shard = self._shards.get(index)
        if shard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{self.topic}-{index} is led elsewhere")
        return shard

    def tell_all(self, run: Callable[[MachineT, Now], Step]) -> None:
        for _, shard in self:
            shard.tell(run)

    def close(self) -> None:
        for _, shard in self:
            shard.close()
        self._shards.clear()
