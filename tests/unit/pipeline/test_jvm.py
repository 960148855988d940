"""No Java process outlives a start of Spark that did not succeed."""

from __future__ import annotations

from subprocess import PIPE, Popen
from typing import Any

import pytest

from pipeline.jvm import end, ended_if_not_started

java_gateway: Any = pytest.importorskip("pyspark.java_gateway")


def started() -> Popen[bytes]:
    """As PySpark does it; it waits for its input, which nobody closes."""
    process: Popen[bytes] = java_gateway.Popen(["cat"], stdin=PIPE)
    return process


def interrupted(found: list[Popen[bytes]]) -> None:
    with ended_if_not_started():
        found.append(started())
        raise KeyboardInterrupt


def test_an_interrupted_start_ends_its_process() -> None:
    found: list[Popen[bytes]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(found)
    assert found[0].returncode is not None
    assert java_gateway.Popen is Popen


def test_a_start_that_succeeds_keeps_its_process() -> None:
    with ended_if_not_started():
        process = started()
    assert process.poll() is None
    end(process)
    assert process.poll() is not None
