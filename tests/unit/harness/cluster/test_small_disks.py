"""A node's own disk: it fills to the last byte, is given back, and goes with the place."""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.cluster.errors import FaultMissedError
from harness.cluster.local import LocalPlace
from harness.errors import EnvironmentFailure

SIZE = 1 << 20


@asynccontextmanager
async def place_of_two(directory: Path) -> AsyncIterator[LocalPlace | None]:
    """None where it is refused, as it must be to anybody but root."""
    async with LocalPlace(directory, disk_bytes=SIZE) as place:
        if os.geteuid() == 0:
            await place.up(2)
            yield place
        else:
            with pytest.raises(EnvironmentFailure, match="which takes root"):
                await place.up(2)
            yield None


def is_mount(directory: Path) -> bool:
    return directory.is_mount()


async def test_a_disk_in_memory_can_be_full_and_nothing_else(tmp_path: Path) -> None:
    disk = LocalPlace(tmp_path, disk_bytes=SIZE).disk
    assert disk is not None
    assert disk.why_not("fill") is None
    assert disk.why_not("slow") != disk.why_not("fail")
    with pytest.raises(FaultMissedError, match=disk.why_not("slow")):
        await disk.slow("n1", 1.0)
    with pytest.raises(FaultMissedError, match=disk.why_not("fail")):
        await disk.fail("n1")


async def test_a_disk_is_filled_and_given_back(tmp_path: Path) -> None:
    full, other = tmp_path / "n1/data", tmp_path / "n2/data"
    async with place_of_two(tmp_path) as place:
        if place is None:
            return
        assert is_mount(full)
        assert place.disk is not None
        assert place.why_not("disk") is None
        await place.disk.heal()  # Safe at any time.

        await place.disk.fill("n1")
        assert await place.disk.free_bytes("n1") == 0
        assert await place.disk.free_bytes("n2") == SIZE
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            (full / "record").write_bytes(b"x")
        (other / "record").write_bytes(b"x")

        await place.disk.heal()
        (full / "record").write_bytes(b"x" * (SIZE // 2))
    assert not is_mount(full)
    assert not is_mount(other)


async def test_a_place_that_comes_up_half_leaves_no_mount(tmp_path: Path) -> None:
    (tmp_path / "n2").write_text("a file where the second node's directory should be")
    with pytest.raises((FileExistsError, NotADirectoryError, EnvironmentFailure)):
        async with LocalPlace(tmp_path, disk_bytes=SIZE) as place:
            await place.up(2)
    assert (tmp_path / "n1/data").is_dir()
    assert not is_mount(tmp_path / "n1/data")
