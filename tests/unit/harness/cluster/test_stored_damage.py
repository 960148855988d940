"""Damage to stored logs: where it strikes, and that it strikes nowhere else."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from harness.cluster.errors import FaultMissedError
from harness.cluster.stored_damage import flip_bit, truncate_tail

DRAWS = [0.0, 0.123, 0.5, 0.77, 0.999999]


def batch(offset: int, size: int) -> bytes:
    return struct.pack(">qi", offset, 49 + size) + bytes(49 + size)


def directory(parent: Path) -> Path:
    """Two replicas of three segments each, the metadata, and what is no log."""
    for name in ("t-0", "t-1", "__cluster_metadata-0"):
        replica = parent / "logs" / name
        replica.mkdir(parents=True)
        for base in (0, 10, 20):
            content = batch(base, 100) + batch(base + 1, 200)
            (replica / f"{base:020}.log").write_bytes(content)
            (replica / f"{base:020}.index").write_bytes(bytes(64))
    (parent / "logs" / "broker.log").write_text("not a segment")
    return parent


def contents(parent: Path) -> dict[str, bytes]:
    return {
        path.relative_to(parent).as_posix(): path.read_bytes()
        for path in sorted(parent.rglob("*"))
        if path.is_file()
    }


def changed(parent: Path, before: dict[str, bytes]) -> list[str]:
    return [name for name, content in contents(parent).items() if content != before[name]]


@pytest.mark.parametrize("draw", DRAWS)
def test_one_bit_of_one_batch_of_a_closed_segment_is_flipped(tmp_path: Path, draw: float) -> None:
    before = contents(directory(tmp_path))
    log, where = flip_bit(tmp_path, draw)
    (name,) = changed(tmp_path, before)
    assert log == Path(name).parent.name in ("t-0", "t-1")
    assert not name.endswith(f"{20:020}.log"), "the active segment is not closed"
    assert where.endswith("/".join(Path(name).parts[-2:]))
    after = contents(tmp_path)[name]
    bits = [one ^ other for one, other in zip(after, before[name], strict=True)]
    (position,) = [at for at, each in enumerate(bits) if each]
    assert bits[position].bit_count() == 1
    in_batch = position if position < 161 else position - 161
    assert in_batch >= 61, "in the records, where only a checksum can tell"


@pytest.mark.parametrize("draw", DRAWS)
def test_bytes_are_taken_off_the_end_of_one_active_segment(tmp_path: Path, draw: float) -> None:
    before = contents(directory(tmp_path))
    log, where = truncate_tail(tmp_path, draw)
    (name,) = changed(tmp_path, before)
    assert log == Path(name).parent.name in ("t-0", "t-1")
    assert name.endswith(f"{20:020}.log")
    after = contents(tmp_path)[name]
    assert len(after) < len(before[name])
    assert before[name].startswith(after)
    assert f"the last {len(before[name]) - len(after)} of {len(before[name])} bytes" in where


def test_different_draws_strike_different_places(tmp_path: Path) -> None:
    directory(tmp_path)
    assert len({flip_bit(tmp_path, number / 50) for number in range(50)}) == 50


def test_where_nothing_can_be_damaged_that_is_told(tmp_path: Path) -> None:
    with pytest.raises(FaultMissedError, match="no segment here is closed"):
        flip_bit(tmp_path, 0.5)
    with pytest.raises(FaultMissedError, match="no active segment"):
        truncate_tail(tmp_path, 0.5)
