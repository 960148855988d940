"""The faults that a disk in memory can show."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable
from random import Random

import pytest

from broker.disk.memory import MemoryDisk


async def test_a_power_loss_takes_what_was_not_synced(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"safe"])
    await file.fdatasync()
    file.append([b"lost"])
    memory.power_loss()
    assert await memory.read("a.log") == b"safe"


async def test_a_power_loss_says_what_it_cost_file_by_file(memory: MemoryDisk) -> None:
    longer, cut, gone, kept = [await memory.create(name) for name in ("a", "b", "c", "d")]
    for file in (longer, cut, kept):
        file.append([b"safe"])
        await file.fdatasync()
    longer.append([b"lost"])
    cut.truncate(1)
    cut.append([b"X"])
    gone.append([b"everything"])
    # The second file is longer afterwards than it was, and yet what was written last is lost.
    assert memory.power_loss() == {"a": 4, "b": 1, "c": 10}
    assert memory.power_loss() == {}


async def test_what_is_torn_has_not_survived(memory: MemoryDisk) -> None:
    for seed in range(100):
        disk = MemoryDisk()
        file = await disk.create("a")
        await file.fdatasync()
        file.append([b"U" * 1000])
        lost = disk.power_loss(Random(seed)).get("a", 0)
        left = await disk.read("a")
        assert lost == 1000 - left.count(b"U") or (0 <= lost <= 1000 and b"U" not in left)


async def test_a_file_that_was_never_synced_is_gone(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"lost"])
    memory.power_loss()
    assert await memory.list("") == []


async def test_handles_of_the_former_life_are_dead(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    await file.fdatasync()
    memory.power_loss()
    with pytest.raises(OSError, match="Input/output error"):
        file.append([b"x"])
    with pytest.raises(OSError, match="Input/output error"):
        file.pread(1, 0)
    with pytest.raises(OSError, match="Input/output error"):
        await file.fdatasync()
    again = await memory.open("a.log")
    again.append([b"y"])
    assert again.size == 1


async def test_an_unsynced_truncation_may_be_undone(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"abcdef"])
    await file.fdatasync()
    file.truncate(2)
    file.append([b"XY"])
    memory.power_loss()
    assert await memory.read("a.log") == b"abcdef"


async def test_a_synced_truncation_stays(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"abcdef"])
    await file.fdatasync()
    file.truncate(2)
    await file.fdatasync()
    memory.power_loss()
    assert await memory.read("a.log") == b"ab"


class Held:
    """A disk whose syncs wait, in the order in which they began, until they are let go."""

    def __init__(self, disk: MemoryDisk) -> None:
        self.waiting: list[asyncio.Event] = []
        self._is_held = asyncio.Event()
        disk.before = self._hold

    async def _hold(self, operation: str, path: str) -> None:
        if operation == "fdatasync":
            event = asyncio.Event()
            self.waiting.append(event)
            self._is_held.set()
            await event.wait()

    async def begin(self, work: Awaitable[None]) -> asyncio.Future[None]:
        begun = asyncio.ensure_future(work)
        self._is_held.clear()
        await self._is_held.wait()
        return begun


async def test_a_sync_vouches_for_nothing_that_was_written_after_it_began(
    memory: MemoryDisk,
) -> None:
    file = await memory.create("a.log")
    file.append([b"abcdef"])
    held = Held(memory)
    syncing = await held.begin(file.fdatasync())
    file.truncate(2)
    file.append([b"XYZ"])
    held.waiting[0].set()
    await syncing
    assert file.pread(9, 0) == b"abXYZ"
    assert memory.synced_bytes("a.log") == 2
    memory.power_loss()
    memory.before = None
    assert await memory.read("a.log") == b"abcdef"


async def test_a_sync_that_was_overtaken_takes_nothing_back(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"abcdef"])
    held = Held(memory)
    first = await held.begin(file.fdatasync())
    file.truncate(2)
    file.append([b"XYZ"])
    second = await held.begin(file.fdatasync())
    held.waiting[1].set()
    await second
    held.waiting[0].set()
    await first
    memory.power_loss()
    memory.before = None
    assert await memory.read("a.log") == b"abXYZ"


async def test_a_sync_that_fails_gives_up_nothing_that_was_written_after_it_began(
    memory: MemoryDisk,
) -> None:
    file = await memory.create("a.log")
    file.append([b"abcdef"])
    held = Held(memory)
    syncing = await held.begin(file.fdatasync())
    file.truncate(2)
    file.append([b"XYZ"])
    memory.fail("fdatasync", times=1)
    held.waiting[0].set()
    with pytest.raises(OSError, match="Input/output error"):
        await syncing
    memory.before = None
    await file.fdatasync()
    memory.power_loss()
    assert await memory.read("a.log") == b"\0\0XYZ"


async def test_a_sync_that_nobody_waits_for_any_more_vouches_for_nothing(
    memory: MemoryDisk,
) -> None:
    file = await memory.create("a.log")
    file.append([b"abcdef"])
    held = Held(memory)
    syncing = await held.begin(file.fdatasync())
    syncing.cancel()
    await asyncio.wait([syncing])
    assert memory.synced_bytes("a.log") == 0


async def outcome(seed: int) -> bytes:
    disk = MemoryDisk()
    file = await disk.create("a.log")
    file.append([b"S" * 600])
    await file.fdatasync()
    file.append([b"U" * 2000])
    disk.power_loss(Random(seed))
    return await disk.read("a.log")


async def test_a_random_power_loss_keeps_what_was_synced_and_shows_every_kind_of_tail() -> None:
    seen = [await outcome(seed) for seed in range(200)]
    assert all(content.startswith(b"S" * 600) and len(content) <= 2600 for content in seen)
    tails = [content[600:] for content in seen]
    assert b"" in tails
    assert b"U" * 2000 in tails
    assert any(tail and set(tail) == {ord("U")} and len(tail) < 2000 for tail in tails)
    assert any(tail and set(tail) == {0} for tail in tails)
    assert any(b"U" in tail and b"\0" * 400 in tail.rstrip(b"\0") for tail in tails)
    assert any(len(set(tail)) > 10 for tail in tails)


async def test_the_same_seed_gives_the_same_loss() -> None:
    assert [await outcome(seed) for seed in range(30)] == [await outcome(s) for s in range(30)]


async def test_names_that_were_not_synced_vanish_from_the_end() -> None:
    seen = set()
    for seed in range(30):
        disk = MemoryDisk()
        for name in ("a", "b", "c"):
            await disk.create(name)
        disk.power_loss(Random(seed))
        seen.add(tuple(await disk.list("")))
    assert seen == {(), ("a",), ("a", "b"), ("a", "b", "c")}


async def test_finished_renames_deletes_and_replacements_survive(memory: MemoryDisk) -> None:
    await memory.make_directory("t-0")
    for name in ("a", "b", "c"):
        await memory.replace(f"t-0/{name}", name.encode())
    await memory.rename("t-0/a", "t-0/z")
    await memory.delete("t-0/b")
    await memory.replace("t-0/c", b"new")
    memory.power_loss()
    assert await memory.list("t-0") == ["c", "z"]
    assert await memory.read("t-0/c") == b"new"
    assert await memory.read("t-0/z") == b"a"


class Crash(BaseException):
    pass


@pytest.mark.parametrize("crash_at", range(4))
async def test_a_replacement_cut_short_by_a_crash_shows_the_old_or_the_new(crash_at: int) -> None:
    for seed in range(20):
        disk = MemoryDisk()
        await disk.replace("checkpoint", b"old")
        points: list[str] = []

        async def crash(operation: str, path: str, points: list[str] = points) -> None:
            if len(points) == crash_at:
                raise Crash
            points.append(operation)

        disk.before = crash
        try:
            await disk.replace("checkpoint", b"new")
            finished = True
        except Crash:
            finished = False
        disk.before = None
        assert finished == (crash_at == 3)
        disk.power_loss(Random(seed))
        assert await disk.read("checkpoint") in ((b"new",) if finished else (b"old", b"new"))


async def test_a_process_crash_keeps_what_was_written(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"kept"])
    memory.process_crash()
    with pytest.raises(OSError, match="Input/output error"):
        file.append([b"x"])
    assert await memory.read("a.log") == b"kept"


async def test_a_full_disk_writes_nothing_and_takes_more_after_a_delete() -> None:
    disk = MemoryDisk(capacity_bytes=10)
    await disk.replace("other", b"1234")
    file = await disk.create("a.log")
    file.append([b"abcd"])
    with pytest.raises(OSError, match="No space left") as caught:
        file.append([b"e", b"fg"])
    assert caught.value.errno == errno.ENOSPC
    assert file.pread(100, 0) == b"abcd"
    assert await disk.free_bytes() == 2
    with pytest.raises(OSError, match="No space left"):
        await disk.replace("other", b"1234")
    assert await disk.list("") == ["a.log", "other"]
    await disk.delete("other")
    file.append([b"efghij"])


async def test_an_error_comes_once_or_until_healed(memory: MemoryDisk) -> None:
    file = await memory.create("t-0.log")
    once = memory.fail("append", "*.log", times=1)
    with pytest.raises(OSError, match="Input/output error"):
        file.append([b"x"])
    file.append([b"y"])
    assert once.hits == 1
    memory.fail("fdatasync", "t-0*")
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            await file.fdatasync()
    memory.heal()
    await file.fdatasync()
    assert file.pread(9, 0) == b"y"


async def test_an_error_meets_only_what_it_names(memory: MemoryDisk) -> None:
    memory.fail("create", "*.txnindex", error=errno.EMFILE)
    await memory.create("a.log")
    with pytest.raises(OSError, match="Too many open files"):
        await memory.create("a.txnindex")


async def test_a_read_only_disk_can_still_be_read(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    file.append([b"abc"])
    memory.faults.is_read_only = True
    assert file.pread(3, 0) == b"abc"
    for refused in (memory.create("b"), memory.delete("a.log"), memory.replace("c", b"")):
        with pytest.raises(OSError, match="Read-only file system"):
            await refused
    with pytest.raises(OSError, match="Read-only file system"):
        file.append([b"d"])


async def test_a_slow_disk_takes_the_time_of_the_loop(memory: MemoryDisk) -> None:
    file = await memory.create("a.log")
    memory.slow("fdatasync", seconds=0.01)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await file.fdatasync()
    assert loop.time() - began >= 0.01


async def test_whoever_waits_for_the_disk_at_a_power_loss_gets_an_error(
    memory: MemoryDisk,
) -> None:
    file = await memory.create("a.log")
    reached = asyncio.Event()
    go_on = asyncio.Event()

    async def hold(operation: str, path: str) -> None:
        reached.set()
        await go_on.wait()

    memory.before = hold
    syncing = asyncio.create_task(file.fdatasync())
    await reached.wait()
    memory.power_loss()
    go_on.set()
    with pytest.raises(OSError, match="Input/output error"):
        await syncing


async def test_chilled_bytes_are_cold_until_warmed_and_tell_who_read_them(
    memory: MemoryDisk,
) -> None:
    file = await memory.create("a.log")
    file.append([bytes(200_000)])
    memory.chill("*.log")
    assert not file.is_hot(0, 1)
    file.pread(1, 0)
    assert memory.blocking_reads == 1
    await file.warm(0, 100_000)
    assert file.is_hot(0, 100_000)
    assert not file.is_hot(100_000, 100_000)
    file.pread(100_000, 0)
    assert memory.blocking_reads == 1
