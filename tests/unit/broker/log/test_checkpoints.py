"""Kafka's text checkpoints."""

from __future__ import annotations

import pytest

from broker.disk.interface import Disk
from broker.log.checkpoints import CorruptCheckpointError, read_offsets, write_offsets


async def test_offsets_are_written_as_kafka_does(disk: Disk) -> None:
    offsets = {("b", 1): 7, ("a", 10): 5, ("a", 2): 0}
    await write_offsets(disk, "recovery-point-offset-checkpoint", offsets)
    content = await disk.read("recovery-point-offset-checkpoint")
    assert content == b"0\n3\na 2 0\na 10 5\nb 1 7\n"
    assert await read_offsets(disk, "recovery-point-offset-checkpoint") == offsets


async def test_a_missing_file_holds_nothing(disk: Disk) -> None:
    assert await read_offsets(disk, "x") == {}


@pytest.mark.parametrize(
    "content",
    [b"", b"0", b"9\n0\n", b"0\n2\na 1 5\n", b"0\n1\na b c\n", b"0\n1\na 1\n", b"\xff\n0\n"],
)
async def test_damage_is_noticed(disk: Disk, content: bytes) -> None:
    await disk.replace("x", content)
    with pytest.raises(CorruptCheckpointError):
        await read_offsets(disk, "x")
