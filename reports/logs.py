"""What the nodes logged around a moment of the history."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import TextIOWrapper
from pathlib import Path

from harness.store.inside import open_inside
from harness.store.stored_run import read_began
from reports.wording import cut, seconds

WITHIN_S = 1.0
_LINES_MAX = 40
_KAFKA = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] (.*)")


@dataclass(frozen=True, slots=True)
class Line:
    time: str
    """Of the history, as text."""
    level: str
    text: str


def lines_around(directory: Path, time_ns: int) -> dict[str, tuple[list[Line], int]]:
    """By node: the lines within a second, and how many more there are."""
    clocks = read_began(directory)
    if clocks is None:
        return {}
    began = clocks.wall
    middle, found = began + timedelta(microseconds=time_ns / 1000), {}
    for path in sorted(directory.glob("n*/broker.log")):
        near = [
            Line(seconds(int((at - began).total_seconds() * 1e9)), level, cut(text, 300))
            for at, level, text in _lines(directory, f"{path.parent.name}/{path.name}")
            if abs((at - middle).total_seconds()) <= WITHIN_S
        ]
        found[path.parent.name] = (near[:_LINES_MAX], max(0, len(near) - _LINES_MAX))
    return found


def _lines(directory: Path, name: str) -> Iterator[tuple[datetime, str, str]]:
    """The reference broker writes JSON, Apache Kafka its own form; other lines have no time."""
    with TextIOWrapper(open_inside(directory, name), "utf-8", errors="replace") as file:
        for line in file:
            try:
                if line.startswith("{"):
                    said = json.loads(line)
                    text = f"{said['logger']}: {said['message']}"
                    yield datetime.fromisoformat(said["time"]), str(said["level"]), text
                elif match := _KAFKA.match(line):
                    at = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
                    level, _, text = match[3].partition(" ")
                    yield at + timedelta(milliseconds=int(match[2])), level.lower(), text
            except (ValueError, KeyError, TypeError):
                continue
