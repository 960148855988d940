"""Kafka's small text files: a version, a count, and a line for each entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from broker.disk.interface import Disk

RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
CLEANER = "cleaner-offset-checkpoint"

TopicPartition = tuple[str, int]


class CorruptCheckpointError(Exception):
    """A checkpoint that does not hold what its first two lines promise."""


def encode(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "".join(f"{line}\n" for line in ["0", str(len(entries)), *entries]).encode()


def decode(content: bytes, path: str) -> list[list[str]]:
    """The words of each entry."""
    try:
        version, count, *lines = content.decode().splitlines()
        if int(version) != 0:
            raise CorruptCheckpointError(f"{path} has version {version}, only 0 is known")
        if int(count) != len(lines):
            raise CorruptCheckpointError(f"{path} promises {count} entries, has {len(lines)}")
    except ValueError as problem:
        raise CorruptCheckpointError(f"{path} is no checkpoint: {problem}") from problem
    return [line.split() for line in lines]


async def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    lines = (
        f"{topic} {partition} {offsets[topic, partition]}" for topic, partition in sorted(offsets)
    )
    await disk.replace(path, encode(lines))


async def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """Empty when there is no file yet."""
    try:
        content = await disk.read(path)
    except FileNotFoundError:
        return {}
    try:
        return {
            (topic, int(partition)): int(offset)
            for topic, partition, offset in decode(content, path)
        }
    except ValueError as problem:
        raise CorruptCheckpointError(f"{path} holds a line that is no offset") from problem
