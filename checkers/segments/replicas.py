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

    @property
    def end(self) -> int:
        return self.batches[-1].last + 1 if self.batches else self.start

    @property
    def standing(self) -> tuple[int, int]:
        """Of two replicas the one with the later leader, then the longer, is nearer the truth."""
        return (self.batches[-1].epoch if self.batches else -1, self.end)


def replicas_in(directory: Path) -> list[Replica]:
    """In the order of logs and nodes."""
    if not directory.is_dir():
        raise SegmentsError(f"{directory}: there is no such directory")
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
        with path.open("rb") as file:
            whole = zstandard.ZstdDecompressor().stream_reader(file).read()
        with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
            for member in archive:
                parts = Path(member.name).parts
                if member.isfile() and len(parts) >= 2 and _SEGMENT.fullmatch(parts[-1]):
                    content = archive.extractfile(member)
                    assert content is not None, "a plain file has contents"
                    yield path.parent.name, parts[-2], parts[-1], content.read()
    except (tarfile.TarError, zstandard.ZstdError) as error:
        raise SegmentsError(f"{path}: this is no packed log directory: {error}") from error


def _replica(node: str, log: str, files: list[tuple[str, bytes]]) -> Replica:
    replica = Replica(node, log, start=int(files[0][0].removesuffix(".log")))
    for name, data in files:
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
            if name != files[-1][0]:
                replica.damage.append(f"{name}: {error}")
        except DamagedError as error:
            replica.damage.append(f"{name}: {error}")
    return replica
