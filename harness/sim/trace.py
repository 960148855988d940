"""What happened, row by row, each with the row that led to it.

A row costs one tuple while the run goes on; thousands at a time are then packed into columns.
`docs/reference/trace.md` says what the columns and kinds mean.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from harness.sim.handles import Fired
from harness.sim.loop import SimLoop

ABSENT = -(1 << 63)
"""Stands in a number's place where an event has no such number."""

_ROWS_TOGETHER = 8192


class Row(NamedTuple):
    id: int
    cause: int
    time_ns: int
    node: str
    kind: str
    connection: str
    api: str
    correlation_id: int
    topic: str
    partition: int
    offset: int
    epoch: int
    detail: str

    def __str__(self) -> str:
        told = [f"{self.id} <- {self.cause}", f"{self.time_ns / 1e9:.9f}", self.node, self.kind]
        for name in ("connection", "api", "correlation_id", "topic", "partition", "offset",
                     "epoch", "detail"):  # fmt: skip
            value = getattr(self, name)
            if value not in ("", ABSENT):
                told.append(f"{name}={value}")
        return " ".join(told)


TEXT_COLUMNS = ("node", "kind", "connection", "api", "topic", "detail")
NUMBER_COLUMNS = ("cause", "time_ns", "correlation_id", "partition", "offset", "epoch")
_ORDER = Row._fields[1:]

_Values = tuple[int, int, str, str, str, str, int, str, int, int, int, str]


class Columns:
    """Rows in little memory: numbers as they are, texts by their place in `texts`."""

    def __init__(self) -> None:
        self.numbers = {name: array("q") for name in NUMBER_COLUMNS}
        self.codes = {name: array("i") for name in TEXT_COLUMNS}
        self.texts: list[str] = [""]
        self._code_of = {"": 0}
        self.count = 0
        self.hash = sha256()

    def extend(self, rows: list[_Values]) -> None:
        columns = dict(zip(_ORDER, zip(*rows, strict=True), strict=True))
        for name in NUMBER_COLUMNS:
            packed = array("q", columns[name])
            self.numbers[name].extend(packed)
            self.hash.update(packed.tobytes())
        for name in TEXT_COLUMNS:
            for text in columns[name]:
                if text not in self._code_of:
                    self._code_of[text] = len(self.texts)
                    self.texts.append(text)
                    self.hash.update(text.encode() + b"\0")
            codes = array("i", map(self._code_of.__getitem__, columns[name]))
            self.codes[name].extend(codes)
            self.hash.update(codes.tobytes())
        self.count += len(rows)

    def rows(self) -> Iterator[Row]:
        text_at = self.texts.__getitem__
        columns = (
            self.numbers[name] if name in self.numbers else map(text_at, self.codes[name])
            for name in _ORDER
        )
        return map(Row._make, zip(range(1, self.count + 1), *columns, strict=False))

    def row(self, at: int) -> Row:
        values = (
            self.numbers[name][at] if name in self.numbers else self.texts[self.codes[name][at]]
            for name in _ORDER
        )
        return Row._make((at + 1, *values))

    def copy(self) -> Columns:
        twin = Columns()
        twin.numbers = {name: column[:] for name, column in self.numbers.items()}
        twin.codes = {name: column[:] for name, column in self.codes.items()}
        twin.texts = list(self.texts)
        twin._code_of = dict(self._code_of)
        twin.count = self.count
        twin.hash = self.hash.copy()
        return twin


class Trace:
    """Rows are numbered from 1; the cause 0 is nobody's."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self._rows: list[_Values] = []
        self._packed = Columns()

    def __len__(self) -> int:
        return self._packed.count + len(self._rows)

    def emit(
        self,
        kind: str,
        node: str = "",
        connection: str = "",
        api: str = "",
        correlation_id: int = ABSENT,
        *,
        topic: str = "",
        partition: int = ABSENT,
        offset: int = ABSENT,
        epoch: int = ABSENT,
        detail: str = "",
        cause: int | None = None,
    ) -> int:
        """Gives the new row's id. Its cause is what runs now, unless the caller knows better."""
        loop = self._loop
        if loop.is_over:
            return 0
        if cause is None:
            now = loop.cause
            cause = self._fired(now) if isinstance(now, Fired) else now
        rows = self._rows
        rows.append(
            (
                cause,
                loop.now_ns,
                node,
                kind,
                connection,
                api,
                correlation_id,
                topic,
                partition,
                offset,
                epoch,
                detail,
            )
        )
        number = self._packed.count + len(rows)
        if len(rows) == _ROWS_TOGETHER:
            self._packed.extend(rows)
            rows.clear()
        return number

    def _fired(self, timer: Fired) -> int:
        """A timer gets its row when it leads to one, as long as its instant lasts."""
        if timer.row == 0 and timer.time_ns == self._loop.now_ns:
            timer.row = self.emit("timer", timer.node, cause=timer.cause)
        return timer.settled

    def columns(self) -> Columns:
        """All rows, packed; a copy that stays as it is."""
        packed = self._packed.copy()
        if self._rows:
            packed.extend(self._rows)
        return packed

    def digest(self) -> str:
        """The same for two runs if and only if they are the same, row by row."""
        return self.columns().hash.hexdigest()

    def row(self, number: int) -> Row:
        if not 1 <= number <= len(self):
            raise IndexError(f"rows are numbered from 1 to {len(self)}, not {number}")
        at = number - 1
        if at < self._packed.count:
            return self._packed.row(at)
        return Row(number, *self._rows[at - self._packed.count])

    def rows(self) -> Iterator[Row]:
        yield from self._packed.rows()
        for number, values in enumerate(self._rows, self._packed.count + 1):
            yield Row(number, *values)

    def causes(self, number: int) -> Iterator[Row]:
        """The row, the one that led to it, and so on back to where it all began."""
        while number:
            row = self.row(number)
            yield row
            number = row.cause
