"""The storage suite runs against both disks."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.disk.files import FileDisk
from broker.disk.interface import Disk
from broker.disk.memory import MemoryDisk


@pytest.fixture(params=["files", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    if request.param == "memory":
        yield MemoryDisk()
        return
    files = FileDisk(str(tmp_path), threads=2)
    yield files
    asyncio.run(files.close())


@pytest.fixture
def memory() -> MemoryDisk:
    return MemoryDisk()
