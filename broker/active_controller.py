"""The controller that decides, for as long as this node leads the metadata quorum.

A decision looks at the image, which nobody changes before its changes are committed and applied:
decisions are made one after the other. The rules stand in broker/controller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import Any

from broker.controller.balance import balance_leaders
from broker.controller.broker_events import fence_brokers
from broker.controller.liveness import BrokerLiveness
from broker.controller.topic_rules import TopicRules
from broker.decision import Decision, changes_of
from broker.departures import Departures
from broker.metadata.changes import Change, PartitionsChanged
from broker.metadata.image import Image
from broker.metadata.partition_info import PartitionInfo
from broker.network.interface import Address, Network
from broker.observe.events import emit
from broker.protocol.errors import KafkaError
from broker.quorum.quorum import NotLeaderError, Quorum
from broker.watchers import EVER, wait_for_any

_log = logging.getLogger(__name__)

_RETRY_S = 1.0
_LOOK_S = 0.1
"""How often to look for brokers that fell silent, at the least."""


class ActiveController:
    """`run` is one of the node's tasks. `is_active` says whether others may ask it anything."""

    def __init__(
        self,
        quorum: Quorum,
        *,
        session_timeout_s: float,
        rules_of: Callable[[str], TopicRules],
        balance_every_s: float | None,
        imbalance_percentage: int,
        network: Network,
        address_of: Callable[[int], Address | None],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        """`address_of` a broker is where others reach it; `spawn` is for tasks of the node."""
        self._quorum = quorum
        self._session_timeout_s = session_timeout_s
        self.rules_of = rules_of
        self._balance_every_s = balance_every_s
        self._imbalance_percentage = imbalance_percentage
        self._deciding = asyncio.Lock()
        self._under_way: dict[asyncio.Task[None], None] = {}
        self._decision: asyncio.Task[None] | None = None
        self._epoch: int | None = None
        self._liveness: BrokerLiveness | None = None
        self.departures = Departures(
            network, address_of=address_of, on_gone=self._fence_the_departed, spawn=spawn
        )

    @property
    def image(self) -> Image:
        return self._quorum.replay.image

    @property
    def is_active(self) -> bool:
        quorum = self._quorum
        return self._epoch is not None and quorum.leads and quorum.raft.epoch == self._epoch

    @property
    def metadata_end(self) -> int:
        """Behind the last record. Nobody else appends while a decision is made."""
        return self._quorum.log.end_offset

    @property
    def liveness(self) -> BrokerLiveness:
        """Raises NotLeaderError on a node that is not the active controller."""
        self._check_active()
        assert self._liveness is not None
        return self._liveness

    def _check_active(self) -> int:
        """The epoch that it decides in. Raises NotLeaderError."""
        if self._epoch is None or not self.is_active:
            raise NotLeaderError("this node is not the active controller")
        return self._epoch

    async def run(self) -> None:
        while True:
            await self._until_leading()
            epoch = self._quorum.raft.epoch
            try:
                await self._take_over(epoch)
                await self._look_after_brokers(epoch)
            except NotLeaderError as problem:
                _log.info("no longer the active controller: %s", problem)
            finally:
                self._epoch = self._liveness = None

    async def _until_leading(self) -> None:
        while not self._quorum.leads:
            await wait_for_any([self._quorum.changed], EVER)

    async def _take_over(self, epoch: int) -> None:
        """What earlier leaders committed must be known before anything is decided."""
        quorum = self._quorum
        while True:
            self._check(epoch)
            start = quorum.raft.epoch_start_offset
            if start is not None and quorum.raft.high_watermark > start:
                break
            await wait_for_any([quorum.changed], EVER)
        await quorum.replay.until(quorum.raft.high_watermark)
        self._check(epoch)
        now = asyncio.get_running_loop().time()
        end = quorum.log.end_offset
        self._liveness = BrokerLiveness(
            self._session_timeout_s, self.image, now=now, metadata_end=end
        )
        self._epoch = epoch
        _log.info("active controller of epoch %d", epoch)
        for broker in self.image.brokers_sorted():
            if not broker.fenced and broker.broker_id != self._quorum.settings.node_id:
                self.departures.suspect(broker.broker_id)

    def _check(self, epoch: int) -> None:
        if not self._quorum.leads or self._quorum.raft.epoch != epoch:
            raise NotLeaderError(f"epoch {epoch} is over")

    async def decide(self, make: Decision) -> None:
        """Returns when the changes are committed, and the image has them.

        Raises NotLeaderError, and whatever `make` raises.
        """
        self._check_active()
        await self._deciding.acquire()
        # What is written must be in the image before the next decision looks at it, also when the
        # one who asked has given up waiting.
        task = asyncio.get_running_loop().create_task(self._decide(make))
        self._decision = task
        task.add_done_callback(self._decided)
        await asyncio.shield(task)

    async def _decide(self, make: Decision) -> None:
        epoch = self._check_active()
        changes = await changes_of(make)
        if changes:
            _check_applicable(self.image, changes)
            isr_changes = list(_isr_changes(self.image, changes))
            await self._quorum.commit(changes, epoch)
            for name, index, info, how in isr_changes:
                emit("isr", name, index, info.partition_epoch, info.leader_epoch, how)

    def _decided(self, task: asyncio.Task[None]) -> None:
        self._decision = None
        self._deciding.release()
        if not task.cancelled():
            task.exception()  # whoever asked has it, or is gone

    def close(self) -> None:
        """Before the quorum stops: nothing is decided any more."""
        self._epoch = None
        if self._decision is not None:
            self._decision.cancel()

    def connection_closed(self, peer: Address) -> None:
        """Of anybody who came to this node as a controller."""
        broker_id = self.departures.closed(peer)
        if broker_id is not None and self.is_active:
            self.departures.suspect(broker_id)

    async def _look_after_brokers(self, epoch: int) -> None:
        loop = asyncio.get_running_loop()
        balance_at = self._next_balance(loop.time())
        while True:
            until = min(self._next_look(loop.time()), balance_at)
            await wait_for_any([self._quorum.changed], until)
            self._check(epoch)
            now = loop.time()
            if self.liveness.expired(self.image, now):
                await self._decide_unasked(self._fence_the_silent)
            if now >= balance_at:
                balance_at = self._next_balance(now)
                await self._decide_unasked(self._balance)

    async def _decide_unasked(self, make: Decision) -> None:
        """Nobody is there who could ask again when the disk is full."""
        try:
            await self.decide(make)
        except KafkaError as problem:
            _log.error("a decision has to wait: %s", problem)
            await asyncio.sleep(_RETRY_S)

    def _next_look(self, now: float) -> float:
        expiry = self.liveness.next_expiry_s(self.image)
        return EVER if expiry is None else max(expiry, now + _LOOK_S / 10)

    def _next_balance(self, now: float) -> float:
        return EVER if self._balance_every_s is None else now + self._balance_every_s

    def _fence_the_silent(self) -> Sequence[Change]:
        silent = self.liveness.expired(self.image, asyncio.get_running_loop().time())
        for broker_id in silent:
            _log.warning("broker %d is fenced: it was silent for too long", broker_id)
        return fence_brokers(self.image, silent, self.rules_of)

    async def _fence_the_departed(self, broker_id: int) -> None:
        def fence() -> Sequence[Change]:
            broker = self.image.brokers.get(broker_id)
            if broker is None or broker.fenced or self.departures.is_connected(broker_id):
                return ()
            _log.warning("broker %d is fenced: its process is gone", broker_id)
            return fence_brokers(self.image, [broker_id], self.rules_of)

        with suppress(NotLeaderError):
            await self._decide_unasked(fence)

    def _balance(self) -> Sequence[Change]:
        return balance_leaders(self.image, self._imbalance_percentage, self.rules_of)


def _isr_changes(
    image: Image, changes: Sequence[Change]
) -> Iterator[tuple[str, int, PartitionInfo, str]]:
    for change in changes:
        if isinstance(change, PartitionsChanged):
            topic = image.topics[change.name]
            for index, info in change.partitions:
                before = topic.partitions[index].isr
                if set(before) != set(info.isr):
                    how = "shrink" if len(info.isr) < len(before) else "expand"
                    yield change.name, index, info, f"{how} {list(before)}>{list(info.isr)}"


def _check_applicable(image: Image, changes: Sequence[Change]) -> None:
    """Raises ConflictError. What was committed but cannot be applied would stop every node."""
    trial = image.copy()
    for change in changes:
        trial.apply(change)
