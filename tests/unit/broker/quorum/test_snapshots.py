"""A snapshot is the image as it was, whole or refused; only the newest one is kept."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from broker.disk.memory import MemoryDisk
from broker.metadata.changes import ConfigChanged, ResourceType
from broker.metadata.image import Image
from broker.quorum.snapshots import SnapshotCorruptError, Snapshots, apply_snapshot
from broker.raft.events import SnapshotId
from tests.unit.broker.quorum.metadata import content_of, image_of, some_of_everything, topic

FOLDER = "__cluster_metadata-0"


async def folder() -> MemoryDisk:
    disk = MemoryDisk()
    await disk.make_directory(FOLDER)
    return disk


async def written(image: Image) -> MemoryDisk:
    disk = await folder()
    snapshots = await Snapshots.find(disk, FOLDER)
    await snapshots.write(image, SnapshotId(6, 2), 5)
    return disk


async def loaded(disk: MemoryDisk) -> tuple[Image, SnapshotId | None]:
    snapshots = await Snapshots.find(disk, FOLDER)
    return await snapshots.load(), snapshots.latest


async def test_without_a_snapshot_the_image_is_empty() -> None:
    image, latest = await loaded(await folder())
    assert (content_of(image), latest) == (content_of(Image()), None)


async def test_an_image_comes_back_as_it_was_also_after_a_loss_of_power() -> None:
    image = image_of(*some_of_everything())
    disk = await written(image)
    disk.power_loss()
    back, latest = await loaded(disk)
    assert (content_of(back), latest) == (content_of(image), SnapshotId(6, 2))


async def test_a_large_image_takes_several_batches() -> None:
    image = image_of(*(topic(f"t{number}") for number in range(950)))
    back, _ = await loaded(await written(image))
    assert content_of(back) == content_of(image)


async def test_what_changes_meanwhile_is_not_in_it() -> None:
    # So many that it pauses on the way to let others run.
    image = image_of(*(topic(f"t{number}") for number in range(4000)))
    before = content_of(image)
    disk = await folder()
    snapshots = await Snapshots.find(disk, FOLDER)
    writing = asyncio.ensure_future(snapshots.write(image, SnapshotId(500, 1), 5))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not writing.done()
    image.apply(topic("later"))
    image.apply(ConfigChanged(ResourceType.BROKER, "1", "log.retention.ms", "5"))
    await writing
    assert content_of((await loaded(disk))[0]) == before


async def test_an_empty_image_has_a_snapshot_too() -> None:
    image, latest = await loaded(await written(Image()))
    assert (content_of(image), latest) == (content_of(Image()), SnapshotId(6, 2))


async def test_only_the_newest_is_kept_and_an_older_one_changes_nothing() -> None:
    disk = await folder()
    snapshots = await Snapshots.find(disk, FOLDER)
    for end, names in ((3, "a"), (9, "ab"), (5, "abc")):
        await snapshots.write(image_of(*map(topic, names)), SnapshotId(end, 1), 5)
    assert await disk.list(FOLDER) == ["00000000000000000009-0000000001.checkpoint"]
    image, latest = await loaded(disk)
    assert (list(image.topics), latest) == (["a", "b"], SnapshotId(9, 1))


async def test_an_older_one_that_is_written_meanwhile_does_not_take_the_newer_ones_place() -> None:
    disk = await folder()
    snapshots = await Snapshots.find(disk, FOLDER)
    disk.slow("replace", "*/00000000000000000005-*", seconds=0.05)
    await asyncio.gather(
        snapshots.write(image_of(topic("a")), SnapshotId(5, 1), 5),
        snapshots.write(image_of(topic("b")), SnapshotId(9, 1), 5),
    )
    assert snapshots.latest == SnapshotId(9, 1)
    assert await disk.list(FOLDER) == ["00000000000000000009-0000000001.checkpoint"]
    assert list((await snapshots.load()).topics) == ["b"]


async def test_of_two_that_a_crash_left_the_newer_one_counts() -> None:
    older, newer = await written(image_of(topic("a"))), await written(image_of(topic("b")))
    content = await newer.read(f"{FOLDER}/00000000000000000006-0000000002.checkpoint")
    await older.replace(f"{FOLDER}/00000000000000000011-0000000002.checkpoint", content)
    image, latest = await loaded(older)
    assert (list(image.topics), latest) == (["b"], SnapshotId(11, 2))


async def test_files_of_other_names_are_none_of_its_business() -> None:
    disk = await written(image_of(topic("a")))
    for name in ("00000000000000000099-0000000002.checkpoint.part", "quorum-state", "7.checkpoint"):
        await disk.replace(f"{FOLDER}/{name}", b"?")
    assert (await loaded(disk))[1] == SnapshotId(6, 2)


async def test_a_snapshot_that_was_replaced_is_not_found() -> None:
    disk = await folder()
    snapshots = await Snapshots.find(disk, FOLDER)
    await snapshots.write(Image(), SnapshotId(3, 1), 5)
    await snapshots.write(Image(), SnapshotId(4, 1), 5)
    with pytest.raises(FileNotFoundError):
        await snapshots.read(SnapshotId(3, 1))


async def content() -> bytes:
    disk = await written(image_of(*some_of_everything(), *(topic(f"t{n}") for n in range(250))))
    return await disk.read(f"{FOLDER}/00000000000000000006-0000000002.checkpoint")


async def test_every_bit_that_flips_is_noticed() -> None:
    whole = await content()
    dice = Random(3)
    for position in dice.sample(range(len(whole)), 200):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << dice.randrange(8)
        if damaged[position] != whole[position] and not _is_unchecked(whole, position):
            with pytest.raises(SnapshotCorruptError, match=r"^x is damaged: .* from a copy$"):
                apply_snapshot(bytes(damaged), Image(), "x")


def _is_unchecked(whole: bytes, position: int) -> bool:
    """Base offset and leader epoch of a batch stand before its CRC, and mean nothing here."""
    at = 0
    while at < len(whole):
        size = int.from_bytes(whole[at + 8 : at + 12], "big") + 12
        if at <= position < at + size:
            return position - at < 8 or 12 <= position - at < 16
        at += size
    return False


async def test_every_cut_is_noticed_also_one_between_two_batches() -> None:
    whole = await content()
    borders = [0]
    while borders[-1] < len(whole):
        at = borders[-1]
        borders.append(at + int.from_bytes(whole[at + 8 : at + 12], "big") + 12)
    assert len(borders) > 4
    for end in {*borders[:-1], *Random(4).sample(range(len(whole)), 100)}:
        with pytest.raises(SnapshotCorruptError):
            apply_snapshot(whole[:end], Image(), "x")
    apply_snapshot(whole, Image(), "x")


async def test_a_damaged_snapshot_stays_where_it_is() -> None:
    disk = await written(image_of(topic("a")))
    path = f"{FOLDER}/00000000000000000006-0000000002.checkpoint"
    damaged = (await disk.read(path))[:-1] + b"?"
    await disk.replace(path, damaged)
    with pytest.raises(SnapshotCorruptError, match=f"^{path} is damaged: the CRC"):
        await loaded(disk)
    assert await disk.read(path) == damaged
