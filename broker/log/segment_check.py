"""Whether a segment that was synced is still whole, as far as its end and its index tell."""

from __future__ import annotations

from typing import NamedTuple

from broker.disk.interface import File
from broker.log.batch_walk import read, walk_batches
from broker.log.breather import Breather
from broker.log.segment import Segment
from broker.protocol.batch import HEADER_SIZE, MAGIC, CorruptBatchError, read_header


class WholePart(NamedTuple):
    """The batches of a segment up to the first that is none; both ends are exclusive."""

    end_offset: int
    size: int


async def find_end(segment: Segment, breather: Breather) -> WholePart | None:
    """Looks only behind the last entry of the index. None: log and index do not fit."""
    last = segment.offsets.last
    position = last[1] if last else 0
    found = await _walk(segment, position, breather)
    if last is not None:
        try:
            header = read_header(await read(segment.file, position, HEADER_SIZE))
        except CorruptBatchError:
            return None
        if header.last_offset - segment.base_offset != last[0]:
            return None
    return found if found.size == segment.size else None


async def find_whole_part(segment: Segment, breather: Breather) -> WholePart:
    return await _walk(segment, 0, breather)


async def _walk(segment: Segment, position: int, breather: Breather) -> WholePart:
    end_offset = segment.base_offset
    async for found in walk_batches(segment.file, position, segment.file.size, breather):
        if found.header.base_offset < end_offset:
            break
        end_offset = found.header.last_offset + 1
        position = found.position + found.header.size
    return WholePart(end_offset, position)


async def reason(file: File, position: int) -> str:
    """Why a walk that looks at checksums ended here."""
    left = file.size - position
    if left < HEADER_SIZE:
        return f"{left} bytes at the end are too few for a batch"
    try:
        header = read_header(await read(file, position, HEADER_SIZE))
    except CorruptBatchError as error:
        return str(error)
    if header.size > left:
        return f"the batch says {header.size} bytes, but only {left} are left: torn, or no batch"
    if header.magic != MAGIC:
        return f"a batch of format {header.magic} is not known"
    return "the batch fails its checksum, or does not follow from what stands before it"
