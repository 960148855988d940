"""What the cluster knows of one partition, and of all partitions of a topic. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

NO_LEADER = -1

RECOVERED = 0
RECOVERING = 1
"""The leader was elected uncleanly, and has not yet brought its log into order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInfo:
    replicas: tuple[int, ...]  # the first is the preferred leader
    isr: tuple[int, ...]  # in the order of the replicas
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0  # grows with every change
    elr: tuple[int, ...] = ()  # left an ISR below min.insync.replicas, and lost nothing since
    last_known_elr: tuple[int, ...] = ()  # whom to ask when nobody in ISR and ELR is left
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = RECOVERED
    directories: tuple[tuple[int, bytes], ...] = ()
    """Of brokers with several log directories: in which of them the replica lies."""

    def directory_of(self, broker_id: int) -> bytes | None:
        return next((each for replica, each in self.directories if replica == broker_id), None)

    @classmethod
    def in_sync(cls, replicas: Sequence[int]) -> PartitionInfo:
        """A new partition whose replicas are all there; the first one leads."""
        return cls(replicas=tuple(replicas), isr=tuple(replicas), leader=replicas[0])


class PartitionInfos(Sequence[PartitionInfo]):
    """Never changed, as a tuple, but to have one of ten thousand replaced costs little.

    They lie in pieces, of which a new version shares all but the ones that differ.
    """

    __slots__ = ("_count", "_pieces")

    def __init__(self, infos: Iterable[PartitionInfo] = ()) -> None:
        flat = tuple(infos)
        self._count = len(flat)
        self._pieces = tuple(flat[at : at + _PIECE] for at in range(0, len(flat), _PIECE))

    def with_changed(self, changed: Iterable[tuple[int, PartitionInfo]]) -> PartitionInfos:
        edited: dict[int, list[PartitionInfo]] = {}
        for index, info in changed:
            number, place = divmod(index, _PIECE)
            edited.setdefault(number, list(self._pieces[number]))[place] = info
        pieces = list(self._pieces)
        for number, piece in edited.items():
            pieces[number] = tuple(piece)
        after = PartitionInfos()
        after._count, after._pieces = self._count, tuple(pieces)
        return after

    def with_added(self, added: Iterable[PartitionInfo]) -> PartitionInfos:
        return PartitionInfos(chain(self, added))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[PartitionInfo]:
        return chain.from_iterable(self._pieces)

    @overload
    def __getitem__(self, index: int) -> PartitionInfo: ...
    @overload
    def __getitem__(self, index: slice) -> PartitionInfos: ...
    def __getitem__(self, index: int | slice) -> PartitionInfo | PartitionInfos:
        if isinstance(index, slice):
            return PartitionInfos(tuple(self)[index])
        if index < 0:
            index += self._count
        if not 0 <= index < self._count:
            raise IndexError(f"there are {self._count} partitions")
        return self._pieces[index // _PIECE][index % _PIECE]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionInfos):
            return NotImplemented
        return self._pieces == other._pieces

    def __hash__(self) -> int:
        return hash(self._pieces)

    def __repr__(self) -> str:
        return f"PartitionInfos({list(self)})"


_PIECE = 64
