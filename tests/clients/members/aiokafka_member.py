"""A group member of aiokafka."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import aiokafka
from aiokafka.errors import KafkaError

from tests.clients.members.leash import Leash


class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, leash: Leash) -> None:
        self._leash = leash

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self._leash.say("assigned", partitions=sorted(each.partition for each in assigned))

    async def on_partitions_revoked(self, revoked: Any) -> None:
        self._leash.say("assigned", partitions=[])


async def main() -> None:
    logging.disable(logging.CRITICAL)
    leash = Leash()
    options = leash.options
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=options["bootstrap"],
        client_id=options["client_id"],
        group_id=options["group"],
        group_instance_id=options.get("instance"),
        session_timeout_ms=options["session_ms"],
        heartbeat_interval_ms=options["heartbeat_ms"],
        max_poll_interval_ms=options["max_poll_ms"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.subscribe([options["topic"]], listener=Listener(leash))
    await consumer.start()
    while (command := leash.command()) is not None:
        if command:
            if command["do"] == "stall":
                # The application is slow. aiokafka goes on with its heartbeats meanwhile.
                await asyncio.sleep(command["seconds"])
            try:
                await consumer.commit()
            except KafkaError as error:
                leash.say("committed", error=str(error))
            else:
                leash.say("committed", error=None)
        for records in (await consumer.getmany(timeout_ms=50)).values():
            for record in records:
                leash.say("record", partition=record.partition, offset=record.offset)
    await consumer.stop()


asyncio.run(main())
