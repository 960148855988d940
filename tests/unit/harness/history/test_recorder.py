"""What was recorded is what is loaded, whatever came in between."""

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.history import recorder as recorder_module
from harness.history.errors import HistoryError
from harness.history.history import History, finish
from harness.history.op import NEMESIS, Op
from harness.history.recorder import Recorder


@contextmanager
def full_disk(file_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes: the kernel refuses the rest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


VALUE = [["send", "t-0", [3, 7]], ["send", "t-1", {"not": "ours"}]]


def test_a_row_comes_back_as_it_was(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.record(12, 3, "info", "send", VALUE, "TIMED_OUT: no answer", "n2", {"more": 1})
        recorder.record(13, NEMESIS, "info", "partition", None)
        assert len(recorder) == 2
    assert list(History.load(tmp_path)) == [
        Op(0, 12, 3, "info", "send", VALUE, "TIMED_OUT: no answer", "n2", {"more": 1}),
        Op(1, 13, NEMESIS, "info", "partition"),
    ]


def test_what_is_flushed_can_be_loaded_while_the_run_goes_on(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        assert list(History.load(tmp_path)) == []
        recorder.record(1, 0, "invoke", "poll", [["poll"]])
        assert list(History.load(tmp_path)) == []
        recorder.flush()
        recorder.flush()
        assert list(History.load(tmp_path)) == [Op(0, 1, 0, "invoke", "poll", [["poll"]])]


def test_a_full_chunk_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "CHUNK_ROWS_MAX", 4)
    with Recorder(tmp_path) as recorder:
        for number in range(3):
            recorder.record(number, 0, "ok", "crash", None)
        assert len(History.load(tmp_path)) == 0
        recorder.record(3, 0, "ok", "crash", None)
        assert len(History.load(tmp_path)) == 4
        # A poll of many records fills a chunk as many operations do.
        recorder.record(4, 0, "ok", "poll", [["poll", {"t-0": [[n, n] for n in range(4)]}]])
        assert len(History.load(tmp_path)) == 5


def test_rows_are_loaded_in_the_order_of_their_times(tmp_path: Path) -> None:
    with Recorder(tmp_path / "history") as recorder:
        recorder.record(30, 0, "invoke", "send", [["send", "a", 1], ["send", "b", 2]])
        recorder.record(10, 1, "invoke", "send", [["send", "c", 3]])
        recorder.flush()
        recorder.record(20, 1, "ok", "send", [["send", "c", [0, 3]]])
    history = finish(tmp_path / "history")
    assert [(op.index, op.time_ns) for op in history] == [(0, 10), (1, 20), (2, 30)]
    assert history.elements["op"].to_pylist() == [0, 1, 2, 2]
    assert history.op(2).value == [["send", "a", 1], ["send", "b", 2]]


def test_what_cannot_be_told_in_json_leaves_no_trace(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.record(1, 0, "invoke", "send", [["send", "a", 1]])
        with pytest.raises(TypeError):
            recorder.record(2, 0, "ok", "send", [["send", "a", 1], ["send", "b", b"bytes"]])
        recorder.record(3, 0, "ok", "send", [["send", "a", [0, 1]]])
    assert [op.value for op in History.load(tmp_path)] == [
        [["send", "a", 1]],
        [["send", "a", [0, 1]]],
    ]


def test_text_that_has_no_utf8_is_escaped(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        for _ in range(2):
            recorder.record(1, 0, "ok", "f\ud800", ["\ud800"], "bad \ud800", "n\xe4")
    for op in History.load(tmp_path):
        assert (op.f, op.value, op.error, op.node) == (
            "f\\ud800",
            ["\ud800"],
            "bad \\ud800",
            "n\xe4",
        )


def test_a_value_that_was_forgotten_meanwhile_has_one_id_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.history.dictionaries.REMEMBERED_VALUES_MAX", 2)
    texts = ["a", "b", "c", "a", "b", "c"]
    with Recorder(tmp_path) as recorder:
        for time_ns, text in enumerate(texts):
            recorder.record(time_ns, 0, "ok", "send", [["send", "t-0", text], ["send", "t-0", 1]])
    history = History.load(tmp_path)
    assert list(history.values) == ["a", "b", "c"]
    assert [op.value[0][2] for op in history] == texts
    assert [op.value[1][2] for op in history] == [1] * 6


def test_a_history_is_never_overwritten(tmp_path: Path) -> None:
    Recorder(tmp_path).close()
    with pytest.raises(HistoryError, match="already"):
        Recorder(tmp_path)


def test_a_closed_recorder_takes_no_more(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.close()
    recorder.close()
    with pytest.raises(ValueError, match="closed"):
        recorder.record(1, 0, "ok", "crash", None)


def test_a_disk_that_is_full_ends_the_recording_and_keeps_what_was_written(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    for number in range(100):
        recorder.record(number, 0, "info", "send", [["send", "t-0", f"value {number}"]])
        recorder.flush()
    kept = list(History.load(tmp_path))
    with full_disk((tmp_path / "elements.arrow").stat().st_size + 40):
        recorder.record(100, 0, "info", "send", [["send", "t-0", "one too many"]])
        with pytest.raises(OSError, match=r"Error writing bytes") as full:
            recorder.flush()
        assert full.value.errno == errno.EFBIG
    # There is room again, but a batch behind half of one could not be found.
    with pytest.raises(OSError, match=r"Error writing bytes"):
        recorder.record(101, 0, "info", "poll", [])
    for again in (recorder.flush, recorder.close):
        with pytest.raises(OSError, match=r"Error writing bytes"):
            again()
    assert list(History.load(tmp_path)) == kept
