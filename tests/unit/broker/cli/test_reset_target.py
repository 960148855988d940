"""Where a reset moves a group: decided by figures alone, always within the log."""

from __future__ import annotations

from typing import Any

import click
import pytest

from broker.cli.log_offsets import PartitionName
from broker.cli.reset_target import (
    LogFigures,
    NothingToShiftError,
    ResetTarget,
    TargetKind,
    parse_duration_ms,
    parse_time_ms,
    plan,
    read_target,
)

NOTHING: dict[str, Any] = {
    "to_earliest": False,
    "to_latest": False,
    "to_current": False,
    "to_offset": None,
    "shift_by": None,
    "to_datetime": None,
    "by_duration": None,
}


def figures(committed: int | None = 50, by_time: int = -1) -> LogFigures:
    """A log from 10 to 100, of which nothing has the offset 100 yet."""
    return LogFigures(PartitionName("t", 0), committed, 10, 100, by_time)


@pytest.mark.parametrize(
    ("kind", "number", "offset"),
    [
        (TargetKind.EARLIEST, 0, 10),
        (TargetKind.LATEST, 0, 100),
        (TargetKind.CURRENT, 0, 50),
        (TargetKind.OFFSET, 10, 10),
        (TargetKind.OFFSET, 100, 100),
        (TargetKind.SHIFT, -40, 10),
        (TargetKind.SHIFT, 50, 100),
        (TargetKind.SHIFT, 0, 50),
    ],
)
def test_what_is_within_the_log_is_taken_as_it_is(
    kind: TargetKind, number: int, offset: int
) -> None:
    assert plan(ResetTarget(kind, number), figures()) == (offset, None)


@pytest.mark.parametrize(
    ("kind", "number", "committed", "offset", "note"),
    [
        (TargetKind.OFFSET, 9, 50, 10, "offset 9 is below the log start 10; 10 is used"),
        (TargetKind.OFFSET, 101, 50, 100, "offset 101 is above the log end 100; 100 is used"),
        (TargetKind.SHIFT, -41, 50, 10, "offset 9 is below the log start 10; 10 is used"),
        (TargetKind.SHIFT, 51, 50, 100, "offset 101 is above the log end 100; 100 is used"),
        (TargetKind.CURRENT, 0, 3, 10, "offset 3 is below the log start 10; 10 is used"),
        (TargetKind.CURRENT, 0, None, 100, "nothing is committed yet; the log end is used"),
        (TargetKind.TIME, 1, 50, 100, "no record is that new; the log end is used"),
    ],
)
def test_what_is_not_within_the_log_is_moved_there_with_a_sentence(
    kind: TargetKind, number: int, committed: int | None, offset: int, note: str
) -> None:
    assert plan(ResetTarget(kind, number), figures(committed)) == (offset, note)


def test_a_time_is_the_offset_that_the_leader_has_found_for_it() -> None:
    for kind in (TargetKind.TIME, TargetKind.DURATION):
        assert plan(ResetTarget(kind, 1), figures(by_time=42)) == (42, None)
    assert ResetTarget(TargetKind.TIME, 7).timestamp_ms(now_ms=100) == 7
    assert ResetTarget(TargetKind.DURATION, 7).timestamp_ms(now_ms=100) == 93
    assert ResetTarget(TargetKind.DURATION, 700).timestamp_ms(now_ms=100) == 0
    assert ResetTarget(TargetKind.OFFSET, 7).timestamp_ms(now_ms=100) is None


def test_a_shift_needs_a_committed_offset() -> None:
    with pytest.raises(NothingToShiftError, match="partition t-0: nothing is committed yet"):
        plan(ResetTarget(TargetKind.SHIFT, 1), figures(None))


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T00:00:01.250", 1250),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-02", 86_400_000),
    ],
)
def test_a_time_without_an_offset_is_utc(text: str, time_ms: int) -> None:
    assert parse_time_ms(text) == time_ms


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("PT1S", 1000),
        ("PT0.25S", 250),
        ("PT1H30M", 5_400_000),
        ("P1DT1S", 86_401_000),
        ("P2W", 14 * 86_400_000),
        ("PT0S", 0),
    ],
)
def test_a_duration_has_weeks_days_hours_minutes_and_seconds(text: str, duration_ms: int) -> None:
    assert parse_duration_ms(text) == duration_ms


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "1H", "P1Y", "P1M", "-PT1H", "PT-1H", "P99999999999D"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="--by-duration"):
        parse_duration_ms(text)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "1969-12-31T23:59:59"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="--to-datetime"):
        parse_time_ms(text)


def test_exactly_one_target_is_taken() -> None:
    with pytest.raises(click.UsageError, match="exactly one of --to-earliest, "):
        read_target(**NOTHING)
    with pytest.raises(click.UsageError, match="exactly one"):
        read_target(**NOTHING | {"to_latest": True, "to_offset": 0})
    for option, value, target in (
        ("to_earliest", True, ResetTarget(TargetKind.EARLIEST)),
        ("to_latest", True, ResetTarget(TargetKind.LATEST)),
        ("to_current", True, ResetTarget(TargetKind.CURRENT)),
        ("to_offset", 0, ResetTarget(TargetKind.OFFSET, 0)),
        ("shift_by", 0, ResetTarget(TargetKind.SHIFT, 0)),
        ("to_datetime", "1970-01-01", ResetTarget(TargetKind.TIME, 0)),
        ("by_duration", "PT1S", ResetTarget(TargetKind.DURATION, 1000)),
    ):
        assert read_target(**NOTHING | {option: value}) == target
