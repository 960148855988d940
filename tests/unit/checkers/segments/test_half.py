"""Half of what was stored, or what cannot be read, accuses nobody."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
import zstandard

from checkers.models import Question, judge
from checkers.segments.replicas import SegmentsError, replicas_in
from checkers.verdict import Verdict
from tests.unit.checkers.segments.stored import batch, write
from tests.unit.checkers.segments.test_compare import by_segments
from tests.unit.checkers.stories import sent, told

X = "x-0"
SENT = told(sent(0, X, *((value, value) for value in range(6))))
FIRST = batch(X, 0, 0, 1, 2)
REST = batch(X, 3, 3, 4, 5, epoch=2)
BROKEN = REST[:-1] + bytes([REST[-1] ^ 1])
TORN = REST[:-3]
OLD = batch(X, 3, 77, 78, 79)


def judged(directory: Path, **nodes: list[bytes]) -> Verdict:
    for node, batches in nodes.items():
        write(directory, node, X, batches)
    return judge(SENT, "kafka", Question(replicas=tuple(replicas_in(directory))))


@pytest.mark.parametrize("end", [[BROKEN], [TORN], [BROKEN, REST]])
def test_what_a_replica_may_have_where_it_cannot_be_read_is_not_lost(
    tmp_path: Path, end: list[bytes]
) -> None:
    result = judged(tmp_path, n1=[FIRST, *end], n2=[FIRST], n3=[FIRST])
    assert set(by_segments(result)) <= {"damaged-segment"}
    assert result.stats["segments"]["told"]["ok: cannot be said"] == 3
    assert X in result.stats["segments"]["unsettled"]


def test_what_a_damaged_replica_has_is_stored(tmp_path: Path) -> None:
    result = judged(tmp_path, n1=[FIRST, REST, BROKEN], n2=[FIRST], n3=[FIRST])
    assert by_segments(result) == ["damaged-segment"]
    assert result.stats["segments"]["told"] == {"ok: stored": 6}


def test_what_the_longest_cannot_show_is_sought_in_the_others(tmp_path: Path) -> None:
    write(tmp_path, "n1", X, [batch(X, 6, 9, epoch=2)], base=6)
    result = judged(tmp_path, n1=[FIRST, BROKEN], n2=[FIRST, REST], n3=[FIRST, REST])
    assert result.stats["segments"]["told"] == {"ok: stored": 6}


def test_the_longest_of_whole_replicas_decides_and_the_one_that_has_it_is_named(
    tmp_path: Path,
) -> None:
    result = judged(tmp_path, n1=[FIRST, OLD], n2=[FIRST, REST], n3=[FIRST, OLD])
    assert by_segments(result) == []
    other = tmp_path / "other"
    newer = batch(X, 3, 77, 78, 79, epoch=3)
    lost = judged(other, n1=[FIRST, newer], n2=[FIRST, REST], n3=[FIRST, newer])
    texts = [one.because for one in lost.anomalies if one.type == "lost-write"]
    assert texts
    assert texts[0].endswith("the log of n1 lacks it; only n2 has it, at offset 3")


def test_a_segment_that_is_missing_from_the_middle_proves_no_loss(tmp_path: Path) -> None:
    for node in ("n1", "n2", "n3"):
        write(tmp_path, node, X, [batch(X, 4, 4, 5)], base=4)
    whole = [batch(X, 0, 0, 1)]
    result = judged(tmp_path, n1=whole, n2=whole, n3=whole)
    assert by_segments(result) == []
    assert result.stats["segments"]["told"]["ok: cannot be said"] == 2


def test_an_empty_segment_may_show_the_hole(tmp_path: Path) -> None:
    for node in ("n1", "n2", "n3"):
        write(tmp_path, node, X, [], base=6)
    result = judged(tmp_path, n1=[FIRST], n2=[FIRST], n3=[FIRST])
    assert by_segments(result) == []


def test_one_replica_of_three_with_an_old_end_accuses_nobody(tmp_path: Path) -> None:
    result = judged(tmp_path, n3=[FIRST, OLD])
    assert set(by_segments(result)) == {"phantom-record"}
    assert result.stats["segments"]["told"] == {"ok: cannot be said": 3, "ok: stored": 3}


def packed(directory: Path, *, keep: int | None = None, cut: int | None = None) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for base, data in ((0, FIRST), (3, REST)):
            member = tarfile.TarInfo(f"{X}/{base:020}.log")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    (directory / "n1").mkdir()
    whole = zstandard.ZstdCompressor().compress(raw.getvalue()[:keep])
    (directory / "n1" / "data.tar.zst").write_bytes(whole[:cut])


@pytest.mark.parametrize("keep", [512, 1024, 1500, 2048, 2560])
def test_an_archive_without_its_end_is_refused(tmp_path: Path, keep: int) -> None:
    packed(tmp_path, keep=keep)
    with pytest.raises(SegmentsError, match="not a packed log directory") as told_:
        replicas_in(tmp_path)
    assert "\n" not in str(told_.value)


@pytest.mark.parametrize("cut", [0, 1, 8, 40, -1])
def test_a_half_written_archive_is_refused_in_one_line(tmp_path: Path, cut: int) -> None:
    packed(tmp_path, cut=cut)
    with pytest.raises(SegmentsError, match="not a packed log directory") as told_:
        replicas_in(tmp_path)
    assert "\n" not in str(told_.value)


def test_an_archive_with_both_ends_is_read(tmp_path: Path) -> None:
    packed(tmp_path)
    (replica,) = replicas_in(tmp_path)
    assert (replica.start, replica.end, replica.is_whole) == (0, 6, True)
