"""Runs against brokers that break the timestamps of records on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.protocol.batch import (
    patch,
    read_header,
    rewrite_crc,
    stamp_append_time,
    write_header,
)
from harness.run.plan import Plan
from harness.run.run import execute
from harness.run.watching import Silent
from harness.store.store import Store


def stamps_in_the_past(view: memoryview, position: int, time_ms: int) -> None:
    """A leader that is some milliseconds late, now and then."""
    stamp_append_time(view, position, time_ms - (60 if time_ms % 3 == 0 else 0))


def stamps_anew(view: memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """A leader that gives records another timestamp than their producers did."""
    header = read_header(view, position)
    write_header(view, position, header._replace(base_timestamp=header.base_timestamp + 1))
    rewrite_crc(view, position)
    patch(view, position, base_offset, leader_epoch)


@pytest.mark.parametrize(
    ("kind", "place", "broken", "found"),
    [
        ("LogAppendTime", "broker.log.validation.stamp_append_time", None, set[str]()),
        (
            "LogAppendTime",
            "broker.log.validation.stamp_append_time",
            stamps_in_the_past,
            {"timestamp-order"},
        ),
        ("CreateTime", "broker.log.appending.patch", stamps_anew, {"timestamp-change"}),
    ],
)
def test_timestamps_that_a_broker_breaks_are_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    place: str,
    broken: Any,
    found: set[str],
) -> None:
    if broken is not None:
        monkeypatch.setattr(place, broken)
    settings = {"message.timestamp.type": kind}
    plan = Plan(on="sim", rate=60, time_limit_s=3, seed=3, topic_config=settings)
    outcome = execute(plan, Store(tmp_path), Silent())
    assert {each.type for each in outcome.anomalies} == found
    (verdict,) = [each for each in outcome.verdicts if each.checker == "timestamp-order"]
    assert verdict.stats["looked-at"] > 100
