"""A worker's pen: an invocation is on its way before the call is made, a completion may wait."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from harness.run.frames import NEWS, ROW, WorkerFrameReader
from harness.run.worker import Pen


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    os.close(reading)
    os.close(writing)


def heard(reading: int) -> list[Any]:
    try:
        return list(WorkerFrameReader().feed(os.read(reading, 1 << 16)))
    except BlockingIOError:
        return []


def test_an_invocation_never_waits(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    Pen(writing).row(5, 3, "invoke", "send", [["send", "t-0", 7]], None, None, None)
    assert heard(reading) == [[ROW, 5, 3, "invoke", "send", [["send", "t-0", 7]], None, None, None]]


def test_a_completion_waits_for_the_next_invocation_or_a_pause(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    pen = Pen(writing)
    pen.row(6, 3, "ok", "send", [["send", "t-0", [0, 7]]], None, "n1", [1_700])
    assert heard(reading) == []
    pen.row(7, 3, "invoke", "poll", [["poll"]], None, None, None)
    assert [(row[3], row[8]) for row in heard(reading)] == [("ok", [1_700]), ("invoke", None)]
    pen.row(8, 3, "ok", "poll", [["poll", {}]], None, None, None)
    pen.flush()
    assert [row[3] for row in heard(reading)] == ["ok"]


def test_news_comes_behind_what_was_done_before(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    pen = Pen(writing)
    pen.row(6, 3, "fail", "send", [["send", "t-0", 7]], "MESSAGE_TOO_LARGE", None, None)
    pen.news("loaded")
    assert [frame[0] for frame in heard(reading)] == [ROW, NEWS]
