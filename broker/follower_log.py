"""Carries out in a follower's log what the rules of replication decided."""

from __future__ import annotations

from broker.log.log import Log
from broker.observe.events import emit
from broker.replication import follower


async def carry_out(
    log: Log, leader_epoch: int, effect: follower.Effect, records: memoryview | None
) -> None:
    """`records` are what the leader sent. Raises KafkaError, OSError."""
    topic, index = log.topic, log.partition
    match effect:
        case follower.Truncate(offset):
            end = log.end_offset
            await log.truncate_to(offset)
            emit("truncate", topic, index, log.end_offset, leader_epoch, end)
        case follower.StartOver(offset):
            end = log.end_offset
            await log.truncate_fully_and_start_at(offset)
            emit("truncate", topic, index, offset, leader_epoch, end)
        case follower.AppendRecords():
            assert records is not None
            while not log.can_append_replicated(records):
                await log.roll()
            log.append_replicated(records)
            emit("append", topic, index, log.end_offset, leader_epoch)
            if log.needs_flush:
                await log.flush()
        case follower.AdvanceHighWatermark(offset):
            log.advance_high_watermark(offset)
            emit("high_watermark", topic, index, log.high_watermark, leader_epoch)
        case follower.RaiseLogStart(offset):
            await log.delete_records(min(offset, log.high_watermark))
        case follower.Wait():
            raise AssertionError("waiting is the fetcher's")
