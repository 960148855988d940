"""Work on the real disk that nobody waits for any more."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from threading import Event

import pytest

from broker.disk.descriptor import Descriptor, open_descriptor
from broker.disk.files import FileDisk
from tests.open_descriptors import settle


async def test_whoever_is_cancelled_still_waits_for_the_thread(
    files: FileDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = Event(), Event()
    real = os.fsync

    def hold(descriptor: int) -> None:
        reached.set()
        go_on.wait()
        real(descriptor)

    monkeypatch.setattr(os, "fsync", hold)
    first = asyncio.create_task(files.replace("checkpoint", b"old"))
    await asyncio.get_running_loop().run_in_executor(None, reached.wait)
    first.cancel()
    second = asyncio.create_task(files.replace("checkpoint", b"new"))
    for _ in range(10):
        await asyncio.sleep(0)
        first.cancel()
    assert not first.done(), "its lock would be free while its thread still writes"
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert await files.read("checkpoint") == b"new"


async def test_an_error_after_a_cancellation_is_nobodys(
    files: FileDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = Event(), Event()

    def fail(descriptor: int) -> None:
        reached.set()
        go_on.wait()
        raise OSError(5, "Input/output error")

    complaints: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    monkeypatch.setattr(os, "fsync", fail)
    work = asyncio.create_task(files.replace("checkpoint", b"old"))
    await loop.run_in_executor(None, reached.wait)
    work.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert complaints == []


async def test_a_file_whose_opening_was_cancelled_does_not_stay_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = Event(), Event()
    real = open_descriptor

    def hold(place: Path, flags: int) -> Descriptor:
        opened = real(place, flags)
        reached.set()
        go_on.wait()
        return opened

    monkeypatch.setattr("broker.disk.files.open_descriptor", hold)
    disk = FileDisk(str(tmp_path))
    (tmp_path / "a.log").touch()
    opening = asyncio.create_task(disk.open("a.log"))
    await asyncio.get_running_loop().run_in_executor(None, reached.wait)
    opening.cancel()
    go_on.set()
    # The cancellation is kept here, with the frames that it passed.
    with pytest.raises(asyncio.CancelledError) as kept:
        await opening
    assert kept.tb is not None
    await settle(tmp_path)
    await disk.close()
