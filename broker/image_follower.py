"""Keeps a broker in step with the metadata image: its partitions, its configuration, its peers.

The image changes between two awaits; what follows from it takes time, and is done behind it, in
the order of the log. Nothing is followed before the image knows this very life of the broker: what
it says of earlier lives may be long over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker.metadata.changes import (
    BrokerChanged,
    BrokerDirectoriesChanged,
    BrokerEpochsUsed,
    BrokerRegistered,
    BrokerUnregistered,
    Change,
    ConfigChanged,
    DeletionsRemembered,
    PartitionsAdded,
    PartitionsChanged,
    ProducerIdsAllocated,
    ResourceType,
    TopicCreated,
    TopicDeleted,
)
from broker.watchers import EVER, Watchers, wait_for_any

if TYPE_CHECKING:
    from broker.node import Node


class ImageFollower:
    """`run` is one of the node's tasks."""

    def __init__(self, node: Node, on_ready: Callable[[], None]) -> None:
        """`on_ready` is called when the node is as the image says, for the first time in a life."""
        self._node = node
        self._on_ready = on_ready
        self._partitions: dict[tuple[str, int], None] = {}
        self._deleted: dict[str, None] = {}
        self._configured: dict[str | None, None] = {}
        self._brokers_changed = False
        self._everything_changed = False
        self._is_stale = False
        self._news = Watchers()
        self._done = Watchers()
        self._followed_offset = 0
        self.ready_epoch: int | None = None

    def applied(self, changes: Sequence[Change] | None) -> None:
        """Right after the image has them; None when it is another image."""
        if changes is None:
            self._everything_changed = True
        else:
            for change in changes:
                self._note(change)
        self._news.wake()

    def look(self) -> None:
        """Something else has changed that decides what is to be followed."""
        self._is_stale = True
        self._news.wake()

    def _note(self, change: Change) -> None:
        match change:
            case TopicCreated(name=name, partitions=partitions):
                self._partitions.update(((name, index), None) for index in range(len(partitions)))
            case PartitionsAdded(name=name, first=first, partitions=partitions):
                indexes = range(first, first + len(partitions))
                self._partitions.update(((name, index), None) for index in indexes)
            case PartitionsChanged(name=name, partitions=changed):
                self._partitions.update(((name, index), None) for index, _ in changed)
            case TopicDeleted(name=name):
                self._deleted[name] = None
                self._node.metrics.topic_deleted(name)
            case ConfigChanged(resource_type=ResourceType.TOPIC, resource_name=name):
                self._configured[name] = None
            case ConfigChanged():
                self._configured[None] = None
            case BrokerRegistered() | BrokerChanged() | BrokerUnregistered():
                self._brokers_changed = True
            case ProducerIdsAllocated() | DeletionsRemembered() | BrokerEpochsUsed():
                pass
            case BrokerDirectoriesChanged():
                pass  # what it means for the partitions comes as changes of their own

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            offset = self._node.metadata.applied_offset
            self._is_stale = False
            await self._follow()
            if offset > self._followed_offset:
                self._followed_offset = offset
                self._done.wake()
            if self._node.metadata.applied_offset == offset and not self._is_stale:
                # Once a second what a disk refused is tried again.
                await wait_for_any([self._news], loop.time() + 1.0 if self._is_behind else EVER)

    @property
    def _is_behind(self) -> bool:
        return self._node.partitions.is_behind

    async def until_followed(self) -> None:
        """Until this node has done all that the image holds now."""
        offset = self._node.metadata.applied_offset
        while self._followed_offset < offset:
            await wait_for_any([self._done], EVER)

    async def _follow(self) -> None:
        node = self._node
        configured, self._configured = self._configured, {}
        brokers_changed, self._brokers_changed = self._brokers_changed, False
        everything, self._everything_changed = self._everything_changed, False
        for topic in (None,) if everything else configured:
            node.partitions.reconfigure(topic)
        if brokers_changed or everything:
            node.role.brokers_changed()
        epoch = node.role.broker_epoch
        if epoch is None or not node.role.knows_itself(epoch):
            return
        changed, self._partitions = self._partitions, {}
        if self._deleted:
            # Held are also those that were being made when their topic was deleted.
            deleted, self._deleted = self._deleted, {}
            held = [(each.topic, each.index) for each in node.partitions if each.topic in deleted]
            changed.update(dict.fromkeys(held))
        is_first = epoch != self.ready_epoch
        if is_first:
            # Logs were opened before all was known that the image says of their topics now.
            node.role.take_configuration()
        if is_first or everything:
            await node.role.sort_out_logs()
            # What is held of topics that are gone, and then all that there is.
            changed = {(each.topic, each.index): None for each in node.partitions}
            changed.update(
                ((topic.name, index), None)
                for topic in node.metadata.image.topics_sorted()
                for index in range(len(topic.partitions))
            )
        await node.partitions.follow(node.metadata.image, changed)
        if is_first:
            await node.role.note_life(epoch)
            self.ready_epoch = epoch
            self._on_ready()
