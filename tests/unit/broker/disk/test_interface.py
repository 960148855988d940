"""What both disks promise."""

from __future__ import annotations

import asyncio

import pytest

from broker.disk.interface import Disk


async def test_appended_bytes_are_read_back_at_their_positions(disk: Disk) -> None:
    file = await disk.create("a.log")
    assert file.append([b"abc", bytearray(b"de"), memoryview(b"xfgx")[1:3]]) == 0
    assert file.append([b"h"]) == 7
    assert file.size == 8
    assert file.pread(8, 0) == b"abcdefgh"
    assert file.pread(3, 2) == b"cde"
    file.close()


async def test_a_read_is_short_only_at_the_end(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.append([b"abc"])
    assert file.pread(100, 1) == b"bc"
    assert file.pread(100, 3) == b""
    assert file.pread(100, 50) == b""
    assert file.pread(0, 0) == b""
    file.close()


async def test_more_chunks_than_one_system_call_takes_are_all_written(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.append([b"start"])
    chunks = [b"%d," % i for i in range(3000)]
    file.append(chunks)
    assert file.pread(file.size, 5) == b"".join(chunks)
    file.close()


async def test_an_empty_append_writes_nothing(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.append([])
    file.append([b""])
    assert file.size == 0
    file.close()


async def test_a_file_opened_again_goes_on_where_it_ended(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.append([b"abc"])
    file.close()
    file = await disk.open("a.log")
    assert file.size == 3
    file.append([b"d"])
    file.close()
    assert await disk.read("a.log") == b"abcd"


async def test_truncate_cuts_the_end_and_append_goes_on_there(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.append([b"abcdef"])
    file.truncate(2)
    file.append([b"X"])
    assert (file.size, file.pread(10, 0)) == (3, b"abX")
    with pytest.raises(ValueError, match="cannot be cut to 4"):
        file.truncate(4)
    file.close()


async def test_a_slice_keeps_its_bytes_when_the_file_is_truncated(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.append([b"abcdef"])
    beyond, before = file.slice(2, 3), file.slice(0, 2)
    file.truncate(3)
    file.append([b"XYZ"])
    assert beyond.read() == b"cde"
    assert before.read() == b"ab"
    assert before.data is None
    file.close()


async def test_a_slice_keeps_its_bytes_when_the_file_is_closed_and_deleted(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.append([b"abcdef"])
    piece = file.slice(1, 3)
    file.close()
    await disk.delete("a.log")
    assert piece.read() == b"bcd"
    assert len(piece) == 3


async def test_an_existing_file_is_not_created_again(disk: Disk) -> None:
    (await disk.create("a.log")).close()
    with pytest.raises(FileExistsError):
        await disk.create("a.log")


async def test_a_missing_file_is_neither_opened_nor_read(disk: Disk) -> None:
    with pytest.raises(FileNotFoundError):
        await disk.open("a.log")
    with pytest.raises(FileNotFoundError):
        await disk.read("a.log")
    with pytest.raises(FileNotFoundError):
        await disk.rename("a.log", "b.log")


async def test_a_file_needs_its_directory(disk: Disk) -> None:
    with pytest.raises(FileNotFoundError):
        await disk.create("t-0/a.log")
    await disk.make_directory("t-0")
    (await disk.create("t-0/a.log")).close()


async def test_replace_writes_all_or_takes_the_place_of_all(disk: Disk) -> None:
    await disk.replace("checkpoint", b"one")
    await disk.replace("checkpoint", b"")
    await disk.replace("checkpoint", b"three")
    assert await disk.read("checkpoint") == b"three"
    assert await disk.list("") == ["checkpoint"]


async def test_the_last_of_many_replacements_at_once_wins(disk: Disk) -> None:
    await asyncio.gather(*(disk.replace("checkpoint", b"%d" % i) for i in range(20)))
    assert await disk.read("checkpoint") == b"19"
    assert await disk.list("") == ["checkpoint"]


async def test_rename_moves_over_an_existing_file(disk: Disk) -> None:
    await disk.replace("a.swap", b"new")
    await disk.replace("a.log", b"old")
    await disk.rename("a.swap", "a.log")
    assert await disk.read("a.log") == b"new"
    assert await disk.list("") == ["a.log"]


async def test_an_open_file_survives_its_renaming(disk: Disk) -> None:
    file = await disk.create("a.log")
    await disk.rename("a.log", "b.log")
    file.append([b"abc"])
    await file.fdatasync()
    file.close()
    assert await disk.read("b.log") == b"abc"


async def test_a_directory_is_renamed_with_all_that_is_in_it(disk: Disk) -> None:
    await disk.make_directory("t-0/deep")
    await disk.replace("t-0/a.log", b"a")
    await disk.replace("t-0/deep/b", b"b")
    await disk.replace("t-00", b"neighbour")
    await disk.rename("t-0", "t-0.x-delete")
    assert await disk.list("") == ["t-0.x-delete", "t-00"]
    assert await disk.list("t-0.x-delete") == ["a.log", "deep"]
    assert await disk.read("t-0.x-delete/deep/b") == b"b"
    assert await disk.list("t-0") == []


async def test_deleting_what_is_missing_is_no_error(disk: Disk) -> None:
    await disk.delete("a.log")
    await disk.delete_directory("t-0")


async def test_a_directory_is_deleted_with_all_that_is_in_it(disk: Disk) -> None:
    await disk.make_directory("t-0/deep")
    await disk.make_directory("t-01")
    await disk.replace("t-0/deep/b", b"b")
    await disk.delete_directory("t-0")
    assert await disk.list("") == ["t-01"]
    assert await disk.list("t-0/deep") == []


async def test_names_are_listed_in_order(disk: Disk) -> None:
    for name in ("b", "a", "c"):
        await disk.make_directory(name)
    await disk.replace("aa", b"")
    assert await disk.list("") == ["a", "aa", "b", "c"]
    await disk.make_directory("a")
    assert await disk.list("missing") == []


async def test_what_was_just_written_is_hot(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.append([bytes(300_000)])
    assert file.is_hot(0, 300_000)
    assert file.is_hot(299_000, 10)
    await file.warm(0, 300_000)
    assert file.is_hot(0, 300_000)
    file.close()


async def test_syncing_at_once_with_closing_is_an_error_and_no_harm(disk: Disk) -> None:
    file = await disk.create("a.log")
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        await file.fdatasync()


async def test_free_bytes_are_some(disk: Disk) -> None:
    assert await disk.free_bytes() > 0
