"""Segments are found where runs and people keep them, and read as brokers wrote them."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
import zstandard

from checkers.segments.batches import DamagedError, TornError, batches
from checkers.segments.replicas import SegmentsError, replicas_in
from tests.unit.checkers.segments.stored import batch, marker, write


@pytest.mark.parametrize("codec", range(5))
def test_every_codec_is_read(codec: int) -> None:
    (found,) = batches(batch("x-0", 5, 1, 2, 3, epoch=7, codec=codec))
    assert (found.base, found.last, found.epoch) == (5, 7, 7)
    assert [record.offset for record in found.records] == [5, 6, 7]
    assert found.records[2].value is not None
    assert found.records[2].value.startswith(b"x-0 3 ")


def test_markers_say_how_a_transaction_ended() -> None:
    whole = marker(0, 4, committed=True) + marker(1, 4, committed=False)
    assert [found.marker for found in batches(whole)] == [True, False]


@pytest.mark.parametrize("cut", [1, 30, 70])
def test_a_torn_end_is_told_from_damage(cut: int) -> None:
    whole = batch("x-0", 0, 1)
    with pytest.raises(TornError):
        list(batches(whole + batch("x-0", 1, 2)[:-cut]))


def test_a_flipped_bit_is_damage() -> None:
    whole = bytearray(batch("x-0", 0, 1))
    whole[-1] ^= 1
    with pytest.raises(DamagedError, match="fails its checksum"):
        list(batches(bytes(whole)))


def test_directories_of_nodes_and_of_one_node(tmp_path: Path) -> None:
    write(tmp_path, "n1", "x-0", [batch("x-0", 0, 1)])
    write(tmp_path, "n1", "x-0", [batch("x-0", 1, 2)], base=1)
    write(tmp_path, "n2/logs", "x-0", [batch("x-0", 0, 1)])
    one, other = replicas_in(tmp_path)
    assert (one.node, one.log, one.end, other.node, other.end) == ("n1", "x-0", 2, "n2", 1)
    (alone,) = replicas_in(tmp_path / "n1")
    assert (alone.node, alone.log, alone.end) == ("n1", "x-0", 2)


def test_what_a_run_packed_is_unpacked(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        data = batch("x-0", 3, 1)
        member = tarfile.TarInfo(f"x-0/{3:020}.log")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    (tmp_path / "n1").mkdir()
    compressed = zstandard.ZstdCompressor().compress(packed.getvalue())
    (tmp_path / "n1" / "data.tar.zst").write_bytes(compressed)
    (replica,) = replicas_in(tmp_path)
    assert (replica.node, replica.start, replica.end) == ("n1", 3, 4)


def test_damage_in_the_middle_is_kept_and_a_torn_end_is_not(tmp_path: Path) -> None:
    write(tmp_path, "n1", "x-0", [batch("x-0", 0, 1)[:-3]])
    write(tmp_path, "n1", "x-0", [batch("x-0", 1, 2)[:-3]], base=1)
    (replica,) = replicas_in(tmp_path)
    (damage,) = replica.damage
    assert damage.startswith(f"{0:020}.log: the batch at 0 ends 3 bytes too late")


def test_offsets_that_go_back_are_damage(tmp_path: Path) -> None:
    write(tmp_path, "n1", "x-0", [batch("x-0", 0, 1, 2), batch("x-0", 1, 3)])
    (replica,) = replicas_in(tmp_path)
    assert "begins at offset 1, but the log reaches 1" in replica.damage[0]


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_directory_without_segments_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SegmentsError, match=r"no such directory|no segments are here"):
        replicas_in(tmp_path / name)


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / "data.tar.zst").write_bytes(b"no archive at all")
    with pytest.raises(SegmentsError, match="not a packed log directory"):
        replicas_in(tmp_path)
