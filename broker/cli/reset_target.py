"""Where `broker groups reset-offsets` moves a group to: the options, and what they come to.

`plan` decides for one partition from figures alone, so that it can be tested without a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import click

from broker.cli.log_offsets import NO_OFFSET, PartitionName

_DURATION = re.compile(
    r"P(?=.)(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,6})?)S)?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_Command = TypeVar("_Command", bound=Callable[..., Any])


class TargetKind(Enum):
    """The values are the names of the options."""

    EARLIEST = "--to-earliest"
    LATEST = "--to-latest"
    CURRENT = "--to-current"
    OFFSET = "--to-offset"
    SHIFT = "--shift-by"
    TIME = "--to-datetime"
    DURATION = "--by-duration"


@dataclass(frozen=True, slots=True)
class ResetTarget:
    kind: TargetKind
    number: int = 0
    """The offset, the distance, or the time in ms; 0 where the kind says it all."""

    def timestamp_ms(self, now_ms: int) -> int | None:
        """The time whose first record is wanted, or None if the target is no time."""
        if self.kind is TargetKind.TIME:
            return self.number
        if self.kind is TargetKind.DURATION:
            return max(0, now_ms - self.number)
        return None


class LogFigures(NamedTuple):
    """What the plan for a partition needs to know."""

    partition: PartitionName
    committed: int | None
    earliest: int
    latest: int
    by_time: int = NO_OFFSET
    """The offset of the first record at or after the wanted time."""


class PlannedOffset(NamedTuple):
    offset: int
    note: str | None = None
    """Why it is not what was asked for."""


class NothingToShiftError(Exception):
    """A distance from nothing: the group has no committed offset of the partition."""


def plan(target: ResetTarget, log: LogFigures) -> PlannedOffset:
    """Raises NothingToShiftError. The offset is always within the log."""
    match target.kind:
        case TargetKind.EARLIEST:
            return PlannedOffset(log.earliest)
        case TargetKind.LATEST:
            return PlannedOffset(log.latest)
        case TargetKind.CURRENT if log.committed is None:
            return PlannedOffset(log.latest, "nothing is committed yet; the log end is used")
        case TargetKind.SHIFT if log.committed is None:
            raise NothingToShiftError(
                f"partition {log.partition}: nothing is committed yet, so there is nothing to shift"
            )
        case TargetKind.CURRENT | TargetKind.SHIFT:
            assert log.committed is not None
            return _within(log, log.committed + target.number)
        case TargetKind.OFFSET:
            return _within(log, target.number)
        case TargetKind.TIME | TargetKind.DURATION:
            if log.by_time == NO_OFFSET:
                return PlannedOffset(log.latest, "no record is that new; the log end is used")
            return _within(log, log.by_time)


def _within(log: LogFigures, offset: int) -> PlannedOffset:
    if offset < log.earliest:
        return PlannedOffset(
            log.earliest,
            f"offset {offset} is below the log start {log.earliest}; {log.earliest} is used",
        )
    if offset > log.latest:
        return PlannedOffset(
            log.latest, f"offset {offset} is above the log end {log.latest}; {log.latest} is used"
        )
    return PlannedOffset(offset)


# The options


def target_options(command: _Command) -> _Command:
    """The command gets them as keyword arguments, which `read_target` takes."""
    options = (
        click.option("--to-earliest", is_flag=True, help="To the first offset of the log."),
        click.option("--to-latest", is_flag=True, help="To the end of the log."),
        click.option("--to-current", is_flag=True, help="To the committed offset, within the log."),
        click.option("--to-offset", type=click.IntRange(min=0), help="To this offset."),
        click.option("--shift-by", type=int, help="By this many records; back if negative."),
        click.option(
            "--to-datetime",
            metavar="ISO",
            help="To the first record of this time or later, such as 2026-01-31T08:00:00. UTC, "
            "unless it ends with an offset such as +02:00.",
        ),
        click.option(
            "--by-duration",
            metavar="ISO",
            help="To the first record of this long ago or later, such as PT1H30M or P7D.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def read_target(
    *,
    to_earliest: bool,
    to_latest: bool,
    to_current: bool,
    to_offset: int | None,
    shift_by: int | None,
    to_datetime: str | None,
    by_duration: str | None,
) -> ResetTarget:
    """Raises UsageError unless exactly one is given."""
    given: list[ResetTarget] = []
    for is_given, kind in (
        (to_earliest, TargetKind.EARLIEST),
        (to_latest, TargetKind.LATEST),
        (to_current, TargetKind.CURRENT),
    ):
        if is_given:
            given.append(ResetTarget(kind))
    if to_offset is not None:
        given.append(ResetTarget(TargetKind.OFFSET, to_offset))
    if shift_by is not None:
        given.append(ResetTarget(TargetKind.SHIFT, shift_by))
    if to_datetime is not None:
        given.append(ResetTarget(TargetKind.TIME, parse_time_ms(to_datetime)))
    if by_duration is not None:
        given.append(ResetTarget(TargetKind.DURATION, parse_duration_ms(by_duration)))
    if len(given) != 1:
        choices = ", ".join(each.value for each in TargetKind)
        raise click.UsageError(f"give exactly one of {choices}")
    return given[0]


def parse_time_ms(text: str) -> int:
    """Since 1970. Without an offset it is UTC, as in Kafka's tool."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(
            f"--to-datetime {text!r} is no time such as 2026-01-31T08:00:00.000"
        ) from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    time_ms = (time - _EPOCH) // timedelta(milliseconds=1)
    if time_ms < 0:
        raise click.UsageError(f"--to-datetime {text!r} is before 1970; use --to-earliest")
    return time_ms


def parse_duration_ms(text: str) -> int:
    """Years and months are refused: they have no fixed length."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise click.UsageError(
            f"--by-duration {text!r} is no duration such as PT1H30M or P7D; "
            "use weeks (W), days (D), hours (H), minutes (M) and seconds (S)"
        )
    parts = {name: float(value) for name, value in match.groupdict().items() if value is not None}
    try:
        return timedelta(**parts) // timedelta(milliseconds=1)
    except OverflowError:
        raise click.UsageError(f"--by-duration {text!r} is too long") from None
