"""One replica's log as the watcher knows it: the headers of its batches, kept up as it grows.

A look reads only what was appended since the last one. What was cut off is dropped from the end,
for as long as the last batch that is known does not stand any more where it stood.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import attrgetter
from struct import Struct

from broker.inspect import SeenBatch, SeenSegment, read_batches
from broker.protocol.batch import MAGIC, PREFIX_SIZE

Peek = Callable[[SeenSegment, int, int], bytes]
"""A piece of a segment: its position and its length."""

_base_offset = attrgetter("base_offset")

_HEAD = Struct(">qiibI")
"""Offset, length, epoch, format and checksum: the beginning of a batch."""


class ReplicaLog:
    def __init__(self) -> None:
        self.batches: list[SeenBatch] = []
        self.by_base: dict[int, SeenBatch] = {}
        self.starts: list[tuple[int, int]] = []
        """Each epoch with the offset at which it begins, as the batches say."""
        self.grown: list[tuple[SeenBatch | None, SeenBatch]] = []
        """What the last look found new, each with the batch before it."""
        self.cut_at: int | None = None
        """From which offset on the last look found batches missing."""
        self.problem: str | None = None
        """Why the bytes cannot be read as batches up to their end."""

    def look(self, segments: Sequence[SeenSegment], peek: Peek) -> None:
        self.cut_at = self.problem = None
        self.grown = []
        by_base = {each.base_offset: each for each in segments}
        while self.batches and not _is_there(self.batches[-1], by_base, peek):
            self._drop_last()
        last = self.batches[-1] if self.batches else None
        for segment in segments:
            position = 0
            if last is not None:
                if segment.base_offset < last.segment:
                    continue
                if segment.base_offset == last.segment:
                    position = last.position + last.size
            if position < segment.size:
                self._read(segment, position, peek)

    def _read(self, segment: SeenSegment, position: int, peek: Peek) -> None:
        found, problem = read_batches(
            segment, position, peek(segment, position, segment.size - position)
        )
        for batch in found:
            self._add(batch)
        if problem is not None and self.problem is None:
            self.problem = f"{segment.path}: {problem}"

    def _add(self, batch: SeenBatch) -> None:
        if not self.starts or self.starts[-1][0] != batch.leader_epoch:
            self.starts.append((batch.leader_epoch, batch.base_offset))
        self.grown.append((self.batches[-1] if self.batches else None, batch))
        self.batches.append(batch)
        self.by_base[batch.base_offset] = batch

    def _drop_last(self) -> None:
        gone = self.batches.pop()
        self.by_base.pop(gone.base_offset, None)
        if self.starts and self.starts[-1] == (gone.leader_epoch, gone.base_offset):
            self.starts.pop()
        self.cut_at = gone.base_offset

    @property
    def end(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else 0

    def between(self, first: int, up_to: int) -> list[SeenBatch]:
        """The batches that begin there, or behind it, and before `up_to`."""
        at = bisect_left(self.batches, first, key=_base_offset)
        return self.batches[at : bisect_left(self.batches, up_to, lo=at, key=_base_offset)]

    def last_below(self, offset: int) -> SeenBatch | None:
        """The batch that holds the last offset before this one."""
        at = bisect_left(self.batches, offset, key=_base_offset)
        return self.batches[at - 1] if at else None


def _is_there(batch: SeenBatch, segments: dict[int, SeenSegment], peek: Peek) -> bool:
    segment = segments.get(batch.segment)
    if segment is None or batch.position + batch.size > segment.size:
        return False
    return peek(segment, batch.position, _HEAD.size) == _HEAD.pack(
        batch.base_offset, batch.size - PREFIX_SIZE, batch.leader_epoch, MAGIC, batch.crc
    )
