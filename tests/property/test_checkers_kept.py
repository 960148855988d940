"""replaced-get and lost-put against every log that the clients may have had before them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.kept import puts
from checkers.log.facts import LogFacts
from harness.history.op import Op
from tests.property.kept_histories import LOG, NAMES, kept_history
from tests.property.light_history import LightHistory

CASES = ("replaced-get", "lost-put")
NOWHERE = -1
_FAR = 99
"""Beyond all that anybody knows of."""


@dataclass(frozen=True, slots=True)
class Put:
    name: str
    value: Any
    call: int
    offset: int | None


class Told:
    """A history in the words of its definition."""

    def __init__(self, rows: list[Op]) -> None:
        self.puts: list[Put] = []
        self.gets: list[tuple[int, str, int, Any]] = []
        self.polled: dict[int, Any] = {}
        self.end: int | None = None
        self.ends: list[tuple[int, int]] = []
        """Rows, and how far the log had grown by then."""
        for row in rows:
            if row.type == "invoke":
                continue
            if row.f == "put" and row.type != "fail":
                self._put(row)
            elif row.f == "get":
                [[_, name, [end, value]]] = row.value
                self.gets.append((row.index, name, end, value))
                self.ends.append((row.index, end))
            elif row.f == "poll":
                self.polled.update(map(tuple, row.value[0][1][LOG]))
            elif row.f == "end-offsets" and self.polled:
                self.end = max(row.value["high"][LOG], max(self.polled) + 1)

    def _put(self, row: Op) -> None:
        [[_, name, value]] = row.value
        offset = None
        if row.type == "ok":
            offset, value = value
            if offset is not None:
                self.ends.append((row.index, offset + 1))
        self.puts.append(Put(name, value, row.index - 1, offset))

    def place(self, put: Put) -> int | None:
        """Where it certainly is."""
        if put.offset is None and put.value is not None:
            return max((at for at, one in self.polled.items() if one == put.value), default=None)
        return put.offset

    def logs(self) -> Iterator[dict[int, list[Put]]]:
        """Every way to put what has no place; several at an offset only where that was told."""
        fixed = {put: self.place(put) for put in self.puts}
        known = {place for place in fixed.values() if place is not None}
        known |= {at for at, value in self.polled.items() if value is not None}
        most = max([*known, *self.polled, *(end for _, end in self.ends), self.end or 0]) + 1
        loose = [put for put, place in fixed.items() if place is None]
        choices = [
            [NOWHERE, _FAR]
            + [
                at
                for at in range(most)
                if at not in known and all(at >= end for row, end in self.ends if row < put.call)
            ]
            for put in loose
        ]
        for places in product(*choices):
            inside = [place for place in places if place not in (NOWHERE, _FAR)]
            if len(inside) == len(set(inside)):
                log: dict[int, list[Put]] = {}
                for put, place in [*fixed.items(), *zip(loose, places, strict=True)]:
                    if place is not None and place != NOWHERE:
                        log.setdefault(place, []).append(put)
                yield log


def _top(
    log: dict[int, list[Put]], name: str, below: int, before: int
) -> tuple[int, list[Any]] | None:
    """Where the last record of a name is, and its value; more than one where that was told."""
    for at in sorted(log, reverse=True):
        mine = [put.value for put in log[at] if put.name == name and put.call < before]
        if at < below and mine:
            return at, mine
    return None


def replaced_gets(told: Told) -> set[str]:
    return {
        str(row)
        for row, name, end, value in told.gets
        if not any(_gives(told, log, name, end, row, value) for log in told.logs())
    }


def _gives(
    told: Told, log: dict[int, list[Put]], name: str, end: int, row: int, value: Any
) -> bool:
    top = _top(log, name, end, row)
    found = [None] if top is None else top[1]
    if value is None:
        return found[0] is None
    if value in found:
        return True
    # Too new is no fault of it, nor is one before which nothing is known.
    mine = [put for put in told.puts if put.name == name and put.call < row]
    certain = [at for put in mine if (at := told.place(put)) is not None]
    if all(at >= end for at in certain):
        return value in [put.value for put in mine]
    return any(put.value == value and (told.place(put) or 0) >= end for put in mine)


def lost_puts(told: Told) -> set[str]:
    wrong: set[str] = set()
    if not told.polled:
        return wrong
    acked = [(put.offset, put) for put in told.puts if put.offset is not None]
    for offset, put in acked:
        same = [one for at, one in acked if at == offset]
        shown = told.polled.get(offset, put.value)
        if put is not same[0] or shown != put.value:
            wrong.add(put.name)
    for name in NAMES:
        has_place = any(told.place(put) is not None for put in told.puts if put.name == name)
        if has_place and not any(_shows(told, log, name) for log in told.logs()):
            wrong.add(name)
    return wrong


def _shows(told: Told, log: dict[int, list[Put]], name: str) -> bool:
    """Whether this log, compacted somehow, may be what was polled of a name."""
    far = _FAR + 1 if told.end is None else told.end
    top = _top(log, name, far, 1 << 30)
    assert top is not None
    at, (value, *_) = top
    certain = [put for put in log[at] if told.place(put) == at]
    if not certain:
        # What replaced all others; a value would have been polled, if anybody read so far.
        return value is None or (told.end is not None and at > max(told.polled))
    if value is not None:
        return at in told.polled and told.polled[at] == value
    return (at in told.polled and told.polled[at] is None) or not any(
        put.value is not None and told.polled.get(told.place(put) or 0) == put.value
        for put in told.puts
        if put.name == name and told.place(put) is not None
    )


_LOOKS = {"replaced-get": puts.replaced_gets, "lost-put": puts.lost_puts}
ORACLES = {"replaced-get": replaced_gets, "lost-put": lost_puts}


def found_in(name: str, rows: list[Op]) -> set[str]:
    findings = _LOOKS[name](LogFacts(LightHistory(rows).columns))
    gets = {row.index for row in rows if row.f == "get"}
    if name == "replaced-get":
        return {str(max(gets.intersection(one.ops))) for one in findings.found}
    return {str(one.witness["key"]) for one in findings.found}


def difference(name: str, dice: Random) -> tuple[set[str], set[str]]:
    rows = kept_history(dice, bends=0.5 if name == "replaced-get" else 1.0)
    return found_in(name, rows), ORACLES[name](Told(rows))


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_nothing_is_found_in_what_happened(name: str, seed: int) -> None:
    assert found_in(name, kept_history(Random(seed), bends=0.0)) == set()


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_checker_finds_what_its_definition_says(name: str, seed: int) -> None:
    found, defined = difference(name, Random(seed))
    assert found == defined
