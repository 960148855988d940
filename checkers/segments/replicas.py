"""Replicas of logs in a directory: each node's copy of each partition.

A directory of a run has `n1/data.tar.zst` for each node; any other may hold, with segments named by
their first offset, `NODE/TOPIC-PARTITION/`, `NODE/LOGS/TOPIC-PARTITION/` or, of one node,
`TOPIC-PARTITION/`.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

from checkers.segments.batches import Batch, DamagedError, TornError, batches

_SEGMENT = re.compile(r"\d{20}\.log")
_PACKED = "data.tar.zst"
_TAR_END = bytes(2 * tarfile.BLOCKSIZE)
_DEPTHS = ("*/*.log", "*/*/*.log", "*/*/*/*.log")


class SegmentsError(Exception):
    """There is nothing to be read where segments should be."""


@dataclass(slots=True)
class Replica:
    node: str
    log: str
    """`topic-partition`, the key of the history."""
    start: int = 0
    """The first offset that it can hold: the name of its first segment."""
    batches: list[Batch] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    is_torn: bool = False
    """Whether its last batch was half written: no harm, but nobody knows what it was to be."""
    holes: list[tuple[int, int]] = field(default_factory=list)
    """From where, and up to where, a file is missing: segments follow one another."""

    @property
    def is_whole(self) -> bool:
        """Whether all that it ever was can be read, so that what it lacks it never had."""
        return not (self.damage or self.is_torn or self.holes)

    @property
    def end(self) -> int:
        return self.batches[-1].last + 1 if self.batches else self.start

    @property
    def standing(self) -> tuple[int, int, bool]:
        """Of two replicas the one with the later leader, then the longer, is nearer the truth,
        whether or not all of it can be read; of equals the one that can."""
        return (self.batches[-1].epoch if self.batches else -1, self.end, self.is_whole)


def replicas_in(directory: Path) -> list[Replica]:
    """In the order of logs and nodes."""
    if not directory.is_dir():
        raise SegmentsError(f"{directory}: no such directory")
    segments: dict[tuple[str, str], list[tuple[str, bytes]]] = defaultdict(list)
    for node, log, name, data in _segments(directory):
        segments[log, node].append((name, data))
    if not segments:
        raise SegmentsError(
            f"{directory}: no segments are here; expected NODE/TOPIC-PARTITION/{'0' * 20}.log, "
            f"TOPIC-PARTITION/{'0' * 20}.log, or NODE/{_PACKED}, as a run keeps it"
        )
    return [_replica(node, log, sorted(files)) for (log, node), files in sorted(segments.items())]


def _segments(directory: Path) -> Iterator[tuple[str, str, str, bytes]]:
    for path in sorted(path for depth in _DEPTHS for path in directory.glob(depth)):
        parts = path.relative_to(directory).parts
        if _SEGMENT.fullmatch(path.name):
            node = parts[0] if len(parts) > 2 else directory.name
            yield node, parts[-2], path.name, path.read_bytes()
    packed = [directory / _PACKED, *sorted(directory.glob(f"*/{_PACKED}"))]
    for path in packed:
        if path.is_file():
            yield from _unpacked(path)


def _unpacked(path: Path) -> Iterator[tuple[str, str, str, bytes]]:
    try:
        whole = _decompressed(path.read_bytes())
        # Of nothing but a plain archive: otherwise its errors are one for each kind there is.
        with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as archive:
            for member in archive:
                parts = Path(member.name).parts
                if member.isfile() and len(parts) >= 2 and _SEGMENT.fullmatch(parts[-1]):
                    content = archive.extractfile(member)
                    assert content is not None, "a plain file has contents"
                    yield path.parent.name, parts[-2], parts[-1], content.read()
            # One that ends before is read without complaint, and half of a log would be missing.
            if whole[archive.offset :][: len(_TAR_END)] != _TAR_END:
                raise tarfile.ReadError("the archive is truncated")
    except (tarfile.TarError, zstandard.ZstdError) as error:
        raise SegmentsError(f"{path}: not a packed log directory: {error}") from error


def _decompressed(data: bytes) -> bytes:
    """Frame by frame, the last of which must have its end."""
    parts: list[bytes] = []
    while data or not parts:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(data))
        if not frame.eof:
            raise zstandard.ZstdError("the archive is truncated")
        data = frame.unused_data
    return b"".join(parts)


def _replica(node: str, log: str, files: list[tuple[str, bytes]]) -> Replica:
    replica = Replica(node, log, start=int(files[0][0].removesuffix(".log")))
    for name, data in files:
        base = int(name.removesuffix(".log"))
        if base > replica.end:
            replica.holes.append((replica.end, base))
        try:
            for batch in batches(data):
                if batch.base < replica.end:
                    raise DamagedError(
                        f"a batch begins at offset {batch.base}, but the log reaches "
                        f"{replica.end - 1} before it"
                    )
                replica.batches.append(batch)
        except TornError as error:
            # A node that was written to while it was copied, or that was killed, has such an end.
            if name == files[-1][0]:
                replica.is_torn = True
            else:
                replica.damage.append(f"{name}: {error}")
        except DamagedError as error:
            replica.damage.append(f"{name}: {error}")
    return replica
