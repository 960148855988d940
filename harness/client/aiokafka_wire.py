"""Counts the produce requests of an aiokafka producer, and knows the tasks that wait for them.

aiokafka tells neither. Its sender makes one task for each request, with one batch for each
partition, and has one request to a node in flight at a time. The task asks the client to make the
connection ready and then sends at once, so that is when the request counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition

from harness.client.traffic import Meter


class WireWatch:
    def __init__(self) -> None:
        self.meter = Meter()
        self.tasks: set[asyncio.Task[Any]] = set()
        """Those with a produce request under way."""
        self._prepared: dict[int, list[tuple[int, int]]] = {}
        """By node, batches of a request whose connection is not ready yet."""

    def watch(self, producer: AIOKafkaProducer) -> None:
        """Before the producer is started."""
        sender, client = producer._sender, producer.client
        send, ready = sender._send_produce_req, client.ready
        in_flight: dict[int, list[tuple[int, int]]] = {}

        async def counted_ready(node_id: int, **options: Any) -> bool:
            is_ready: bool = await ready(node_id, **options)
            if is_ready and node_id in self._prepared:
                in_flight[node_id] = self._prepared.pop(node_id)
                self.meter.sent(in_flight[node_id])
            return is_ready

        async def counted_send(node_id: int, batches: Mapping[TopicPartition, Any]) -> None:
            if producer._closed:  # the task was made, and had not begun when the client was closed
                return
            task = asyncio.current_task()
            assert task is not None, "aiokafka makes a task of it"
            self.tasks.add(task)
            self._prepared[node_id] = [
                (batch.record_count, len(batch.get_data_buffer())) for batch in batches.values()
            ]
            try:
                await send(node_id, batches)
            finally:
                self.tasks.discard(task)
                self._prepared.pop(node_id, None)
                if node_id in in_flight:
                    self.meter.ended(in_flight.pop(node_id))

        sender._send_produce_req = counted_send
        client.ready = counted_ready
