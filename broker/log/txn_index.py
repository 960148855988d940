"""The aborted transactions whose marker stands in a segment: what read_committed must skip."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from broker.log.offset_index import CorruptIndexError

ENTRY_SIZE = 34
_ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    """`last_stable_offset` is what it was after the marker: nothing before it can still abort."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TxnIndex:
    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[AbortedTransaction] = []

    def add(self, aborted: AbortedTransaction) -> None:
        self.entries.append(aborted)

    def collect(self, first: int, up_to: int, found: list[AbortedTransaction]) -> bool:
        """Adds those that touch [first, up_to). True: no later segment can hold another one."""
        for entry in self.entries:
            if entry.last_offset >= first and entry.first_offset < up_to:
                found.append(entry)
            if entry.last_stable_offset >= up_to:
                return True
        return False

    def truncate(self, end_offset: int) -> None:
        self.entries = [entry for entry in self.entries if entry.last_offset < end_offset]

    def encode(self) -> bytes:
        return b"".join(_ENTRY.pack(_VERSION, *entry) for entry in self.entries)

    @classmethod
    def decode(cls, content: bytes) -> TxnIndex:
        if len(content) % ENTRY_SIZE:
            raise CorruptIndexError(f"{len(content)} bytes are no multiple of {ENTRY_SIZE}")
        index = cls()
        for version, *fields in _ENTRY.iter_unpack(content):
            if version != _VERSION:
                raise CorruptIndexError(f"an entry has version {version}, only 0 is known")
            index.add(AbortedTransaction(*fields))
        return index
