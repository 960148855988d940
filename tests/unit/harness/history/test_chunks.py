"""Whatever instant a recording ends at, what is on disk is a beginning of what was recorded."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from shutil import copytree

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

from harness.history.chunks import read_chunks
from harness.history.errors import HistoryError
from harness.history.history import History, finish
from harness.history.op import Op
from harness.history.recorder import Recorder
from tests.unit.harness.history.endless_recording import row

ROOT = Path(__file__).parents[4]
FILES = ("keys.arrow", "values.arrow", "elements.arrow", "ops.arrow")
FLUSHED = (0, 1, 3)


def recorded(directory: Path) -> list[Op]:
    with Recorder(directory) as recorder:
        for index in range(FLUSHED[-1]):
            if index in FLUSHED:
                recorder.flush()
            op = row(index)
            recorder.record(op.time_ns, op.process, op.type, op.f, op.value, op.error, op.node)
    return [row(index) for index in range(FLUSHED[-1])]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_file_cut_at_any_byte_gives_a_beginning(tmp_path: Path, name: str, stride: int) -> None:
    ops = recorded(tmp_path)
    path = tmp_path / name
    before = 0
    for length in (*range(0, path.stat().st_size, stride), path.stat().st_size):
        cut = copy_cut(tmp_path, name, length)
        history = History.load(cut)
        assert len(history) in FLUSHED
        assert history.is_torn == (length < path.stat().st_size)
        assert len(history) >= before
        assert all(op < len(history) for op in history.elements["op"].to_pylist())
        if len(history) > before:
            assert list(history) == ops[: len(history)]
        before = len(history)
    assert before == len(ops)


def copy_cut(directory: Path, name: str, length: int) -> Path:
    """The recording once more, with one file cut to its first bytes."""
    cut = directory / "cut"
    if not cut.exists():
        cut.mkdir()
        for other in FILES:
            (cut / other).hardlink_to(directory / other)
        (cut / name).unlink()
    (cut / name).write_bytes((directory / name).read_bytes()[:length])
    return cut


@pytest.mark.parametrize("name", FILES)
def test_zeros_at_the_end_of_a_file_are_no_rows(tmp_path: Path, name: str) -> None:
    ops = recorded(tmp_path)
    with (tmp_path / name).open("r+b") as file:
        # As it was before the recorder was closed: without the mark of its end.
        file.truncate(file.seek(0, os.SEEK_END) - 8)
        file.seek(0, os.SEEK_END)
        file.write(bytes(500))
    assert list(History.load(tmp_path)) == ops


def test_what_is_needed_and_missing_takes_its_rows_along(tmp_path: Path) -> None:
    recorded(tmp_path)
    (tmp_path / "elements.arrow").write_bytes(b"")
    history = History.load(tmp_path)
    assert len(history) == 0
    assert history.is_torn


@pytest.mark.parametrize("name", FILES[:-1])
def test_a_file_that_is_not_there_is_damage(tmp_path: Path, name: str) -> None:
    """A recorder makes it before it writes a row, so no kill takes it away."""
    recorded(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(HistoryError, match=f"{name}: it is missing"):
        History.load(tmp_path)
    os.mkfifo(tmp_path / name)
    with pytest.raises(HistoryError, match=f"{name}: it is no regular file"):
        History.load(tmp_path)


@pytest.mark.parametrize("rows", [0, 1])
def test_a_recording_is_torn_until_it_is_closed(tmp_path: Path, rows: int) -> None:
    directory = tmp_path / "history"
    with Recorder(directory) as recorder:
        for index in range(rows):
            recorder.record(index, 0, "info", "crash", None)
        recorder.flush()
        assert History.load(directory).is_torn
        assert finish(directory).is_torn
        assert History.load(tmp_path).is_torn, "Parquet that was made of it says so, too"
    assert not History.load(directory).is_torn
    assert not finish(directory).is_torn
    assert not History.load(tmp_path).is_torn


def test_another_stream_is_no_history(tmp_path: Path) -> None:
    recorded(tmp_path / "good")
    bad = copytree(tmp_path / "good", tmp_path / "bad")
    with (
        pa.OSFile(str(bad / "ops.arrow"), "wb") as file,
        pa.ipc.new_stream(file, pa.schema([("x", pa.int8())])),
    ):
        pass
    with pytest.raises(HistoryError, match="columns"):
        History.load(bad)


def rewritten(
    directory: Path, name: str, column: str, numbers: list[int | None], says: dict[str, str] | None
) -> None:
    """One batch of these numbers, its other columns as they were."""
    path = directory / f"{name}.arrow"
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_stream(file).read_all()
    field = table.schema.field(column)
    table = table.set_column(
        table.schema.get_field_index(column), field, pa.array(numbers, field.type)
    )
    (batch,) = table.combine_chunks().to_batches()
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as stream,
    ):
        stream.write_batch(batch, custom_metadata=says)


SAYS = {"elements": "2", "keys": "1", "values": "1"}
NO_SAYS = {"elements": "2", "keys": "1", "values": "x"}


@pytest.mark.parametrize(
    ("name", "column", "numbers", "says", "said"),
    [
        ("ops", "index", [0, 0, 1, 2], SAYS, "ops.arrow, row 1: expected index to be 1, found 0"),
        ("ops", "index", [3, 2, 1, 0], SAYS, "ops.arrow, row 0: expected index to be 0, found 3"),
        ("ops", "index", [0, 1, None, 3], SAYS, "row 2: expected a value as index, found none"),
        ("ops", "time", [None, 1, 2, 3], SAYS, "row 0: expected a value as time, found none"),
        ("ops", "index", [0, 1, 2, 3], {}, "to say how many keys, values, elements there are"),
        ("ops", "index", [0, 1, 2, 3], NO_SAYS, "to say how many keys, values, elements there are"),
        ("keys", "id", [1], None, "keys.arrow, row 0: expected id to be 0, found 1"),
        ("elements", "op", [1, 4], None, "every op in elements from 0 to 3, found 1 to 4"),
        ("elements", "op", [-1, 3], None, "every op in elements from 0 to 3, found -1 to 3"),
        ("elements", "value", [1, 9], None, "boxed value in elements from 0 to 0, found 9 to 9"),
        ("elements", "value", [1, None], None, "boxed value in elements from 0 to 0, found -1"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    tmp_path: Path,
    name: str,
    column: str,
    numbers: list[int | None],
    says: dict[str, str] | None,
    said: str,
) -> None:
    with Recorder(tmp_path) as recorder:
        for process, value in enumerate((1, "x")):
            recorder.record(2 * process, process, "invoke", "send", None)
            recorder.record(2 * process + 1, process, "ok", "send", [["send", "t-0", value]])
    rewritten(tmp_path, name, column, numbers, says)
    with pytest.raises(HistoryError) as told:
        History.load(tmp_path)
    assert said in str(told.value)


def recordings(directory: Path, seeds: range) -> Iterator[tuple[History, int]]:
    """Each recorded by a process of its own that was killed as it wrote."""
    for seed in seeds:
        random = Random(seed)
        rows_each = random.choice((1, 3, 50, 2000))
        where = directory / str(seed)
        command = [sys.executable, "-m", "tests.unit.harness.history.endless_recording"]
        with subprocess.Popen([*command, str(where), str(rows_each)], cwd=ROOT) as child:
            try:
                wait_for(where / "ops.arrow", random.randrange(1, 200_000), child)
            finally:
                child.send_signal(signal.SIGKILL)
        yield History.load(where), rows_each


def wait_for(path: Path, size: int, child: subprocess.Popen[bytes]) -> None:
    while not path.exists() or path.stat().st_size < size:
        assert child.poll() is None, "the recording ended by itself"
        time.sleep(0.0005)


def test_a_killed_recording_is_a_beginning_of_what_was_recorded(tmp_path: Path) -> None:
    for history, rows_each in recordings(tmp_path, range(4)):
        assert len(history) % rows_each == 0
        assert list(history) == [row(index) for index in range(len(history))]


@pytest.mark.slow
def test_many_killed_recordings(tmp_path: Path) -> None:
    for history, rows_each in recordings(tmp_path, range(100, 160)):
        assert len(history) % rows_each == 0
        assert list(history) == [row(index) for index in range(len(history))]


@pytest.mark.parametrize("name", FILES)
def test_bytes_that_no_recorder_left_are_refused(tmp_path: Path, name: str) -> None:
    """In place of the file, and behind its schema."""
    recorded(tmp_path)
    path = tmp_path / name
    whole, noise = path.read_bytes(), Random(7).randbytes(4096)
    schema = 8 + int.from_bytes(whole[4:8], "little")
    for damaged, at in ((noise, 0), (whole[:schema] + noise, schema)):
        path.write_bytes(damaged)
        with pytest.raises(HistoryError, match=rf"{name}, byte {at:,}: it is damaged"):
            read_chunks(tmp_path)
