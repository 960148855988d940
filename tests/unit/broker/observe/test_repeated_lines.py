"""Repeated log lines are limited, and the limiter says how many it left out."""

import asyncio
import logging

import pytest

from broker.observe.repeated_lines import LINES_OF_ALL_SOURCES, WINDOW_S, RepeatedLines
from tests.virtual_time import in_virtual_time

_log = logging.getLogger("broker.test")
_CLOSING = "closing the connection of %s: %s"


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    texts = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return texts


@in_virtual_time
async def _flood(caplog: pytest.LogCaptureFixture) -> None:
    lines = RepeatedLines(_log)
    for port in range(1000):
        lines.warning("a", _CLOSING, f"a:{port}", "bad")
    lines.warning("b", _CLOSING, "b:1", "bad")
    lines.error("a", "another kind")
    expected = [_CLOSING % (f"a:{port}", "bad") for port in range(5)]
    assert messages(caplog) == [*expected, _CLOSING % ("b:1", "bad"), "another kind"]
    # The count comes by itself when the window ends, though no further line is written.
    await asyncio.sleep(WINDOW_S)
    last = _CLOSING % ("a:999", "bad")
    assert messages(caplog) == [f"left out 995 more lines like this one: {last}"]
    lines.warning("a", _CLOSING, "a:1000", "bad")
    assert messages(caplog) == [_CLOSING % ("a:1000", "bad")]


def test_a_flood_leaves_a_few_lines_and_a_count(caplog: pytest.LogCaptureFixture) -> None:
    _flood(caplog)


@in_virtual_time
async def _many_sources(caplog: pytest.LogCaptureFixture) -> None:
    lines = RepeatedLines(_log)
    for number in range(500):
        lines.warning(f"host-{number}", _CLOSING, number, "bad")
    assert len(messages(caplog)) == LINES_OF_ALL_SOURCES
    lines.report()
    [count] = messages(caplog)
    assert count.startswith(f"left out {500 - LINES_OF_ALL_SOURCES} more lines")


def test_ever_new_sources_are_limited_together(caplog: pytest.LogCaptureFixture) -> None:
    _many_sources(caplog)


@in_virtual_time
async def _traceback(caplog: pytest.LogCaptureFixture) -> None:
    lines = RepeatedLines(_log)
    problem = ValueError("broken")
    lines.error("a", "failed", exc_info=problem)
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is problem
    assert record.levelno == logging.ERROR


def test_an_error_keeps_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    _traceback(caplog)
