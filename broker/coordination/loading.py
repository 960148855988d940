"""Replays a partition into a state machine: all of it, in slices, through a cold disk too."""

from __future__ import annotations

from collections.abc import Callable

from broker.coordination.step import (
    CoordinatorRecord,
    Machine,
    ProducerIdAndEpoch,
    TransactionalMachine,
    TransactionEnd,
)
from broker.disk.interface import ColdReadError
from broker.log.breather import Breather
from broker.log.validation import marker_of
from broker.partition import Partition
from broker.protocol.batch import HEADER_SIZE, BatchHeader, CorruptBatchError, read_header
from broker.protocol.errors import ErrorCode, KafkaError
from broker.protocol.records import iterate_records

_BATCH_BYTES_MAX = 1 << 30


async def replay_partition(
    partition: Partition,
    machine: Machine,
    *,
    buffer_bytes: int,
    is_over: Callable[[], bool],
) -> int:
    """Replays every record up to the end that the log has when it gets there, which is returned.

    Whatever lies above the high watermark is replayed, too: this node leads, so its log is what
    will be committed. Raises KafkaError, OSError; ends early once `is_over`.
    """
    breather = Breather()
    offset = partition.log.start_offset
    while offset < partition.log.end_offset and not is_over():
        log = partition.log
        offset = max(offset, log.start_offset)
        try:
            piece = log.read(offset, buffer_bytes, up_to=log.end_offset, at_least_one=True)
        except ColdReadError as cold:
            await cold.warm()
            continue
        if piece is None:
            break  # compaction has left nothing behind the last batch
        offset = await _replay_batches(memoryview(piece.read()), offset, machine, breather)
    return partition.log.end_offset


async def _replay_batches(
    data: memoryview,
    offset: int,
    machine: Machine,
    breather: Breather,
) -> int:
    """The offset behind the last whole batch. A batch may begin before `offset`."""
    start, position = offset, 0
    try:
        while position + HEADER_SIZE <= len(data):
            header = read_header(data, position)
            if position + header.size > len(data):
                break
            batch = data[position : position + header.size]
            if header.is_control:
                if header.last_offset >= offset:
                    _replay_marker(batch, header, machine)
            else:
                producer = _producer_of(header)
                for record in iterate_records(batch, header, max_bytes=_BATCH_BYTES_MAX):
                    if record.offset >= offset and record.key is not None:
                        machine.replay(CoordinatorRecord(record.key, record.value, producer))
                    await breather.pause()
            offset = header.last_offset + 1
            position += header.size
    except CorruptBatchError as problem:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(problem)) from problem
    if offset == start:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"no batch begins at offset {offset}")
    return offset


def _producer_of(header: BatchHeader) -> ProducerIdAndEpoch | None:
    if not header.is_transactional:
        return None
    return ProducerIdAndEpoch(header.producer_id, header.producer_epoch)


def _replay_marker(batch: memoryview, header: BatchHeader, machine: Machine) -> None:
    marker = marker_of(batch, header)
    if marker is not None and isinstance(machine, TransactionalMachine):
        producer = ProducerIdAndEpoch(header.producer_id, header.producer_epoch)
        machine.end_transaction(TransactionEnd(producer, marker))
