"""Linearizability of one log by trying every order: the definition of Theorem 6, as it stands.

Contents are consistent and polls are consecutive in these histories, for those have checkers of
their own; what remains is time. Operations: a send of one record (acknowledged with its offset, or
without, or of unknown outcome), a poll, a question for the end of the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from checkers.checker import Evidence
from checkers.contract import Contract
from checkers.log.facts import LogFacts
from checkers.registry import all_checkers
from harness.history.op import Op, OpType
from tests.property.light_history import LightHistory

_NEVER = 1 << 30


@dataclass(frozen=True, slots=True)
class Done:
    f: str
    call: int
    ret: int
    offset: int | None
    """Of a send its place, if anybody knows it; of a poll the last it shows; of an end, the end."""
    needed: bool


def is_linearizable(done: list[Done], *, dense: bool) -> bool:
    known = {one.offset for one in done if one.f == "send" and one.offset is not None}
    everything = range(len(done))
    seen: set[tuple[frozenset[int], int]] = set()

    def from_here(gone: frozenset[int], end: int) -> bool:
        """`end` is one more than the last offset in use."""
        if all(not done[one].needed for one in everything if one not in gone):
            return True
        if (gone, end) in seen:
            return False
        seen.add((gone, end))
        left = [one for one in everything if one not in gone]
        earliest = min((done[one].ret for one in left if done[one].needed), default=_NEVER)
        for one in left:
            if done[one].call < earliest or done[one].ret == earliest:
                for after in _after(done[one], end, known, dense=dense):
                    if from_here(gone | {one}, after):
                        return True
        return False

    return from_here(frozenset(), 0)


def _after(one: Done, end: int, known: set[int], *, dense: bool) -> list[int]:
    """Where the log may end after this operation; nowhere, if it cannot be done now."""
    if one.f == "send":
        if one.offset is not None:
            fits = one.offset == end if dense else one.offset >= end
            return [one.offset + 1] if fits else []
        if not dense:
            # There is room for it beside all that is known.
            return [end]
        return [end + 1] if end not in known else []
    assert one.offset is not None
    if one.f == "poll":
        return [end] if end > one.offset else []
    if dense:
        return [end] if end == one.offset else []
    # All that is known below the end is there, and nothing above; the rest are gaps.
    below = max((at for at in known if at < one.offset), default=-1)
    return [one.offset] if below < end <= one.offset else []


class Story:
    """A log, and operations on it whose times may or may not go with it."""

    def __init__(self, dice: Random, *, dense: bool) -> None:
        self.dice = dice
        self.log: list[int] = []
        """The offsets in use, in their order; the value of each is its offset and 100."""
        at = 0
        for _ in range(dice.randint(1, 4)):
            at += 0 if dense else dice.choice((0, 0, 1))
            self.log.append(at)
            at += 1
        self.spans: list[tuple[float, float]] = []
        self.done: list[tuple[str, OpType, Any, Done]] = []
        order = 0.0
        honest = dice.random() < 0.3
        polled: set[int] = set()
        plans: list[tuple[str, float, Any]] = []
        for number, offset in enumerate(self.log):
            plans.append(("send", number + 0.1, offset))
        for _ in range(dice.randint(0, 3)):
            first = dice.randrange(len(self.log))
            last = dice.randrange(first, len(self.log))
            if dice.random() < 0.6:
                plans.append(("poll", last + 0.2 + dice.random(), (first, last)))
                polled |= set(self.log[first : last + 1])
            else:
                plans.append(("end-offsets", last + 0.2 + 0.7 * dice.random(), last))
        for _ in range(dice.randint(0, 1)):
            plans.append(("spare", dice.random() * len(self.log), None))
        for f, moment, about in plans:
            order = moment if honest else dice.random() * len(self.log)
            begun = order - dice.random() * dice.choice((0.2, 1.0, 2.0))
            ended = order + dice.random() * dice.choice((0.2, 1.0, 2.0))
            self.spans.append((begun, ended))
            self.done.append(self._planned(f, about, polled, dense))

    def _planned(
        self, f: str, about: Any, polled: set[int], dense: bool
    ) -> tuple[str, OpType, Any, Done]:
        dice = self.dice
        if f in ("send", "spare"):
            value = 100 + about if f == "send" else 999
            outcome: OpType = dice.choice(("ok", "ok", "info"))
            told = about if f == "send" and outcome == "ok" and dice.random() < 0.8 else None
            seen = f == "send" and about in polled
            place = about if told is not None or seen else None
            value_told = [["send", "x", [told, value]]]
            done = Done("send", 0, 0, place, outcome == "ok" or seen)
            return "send", outcome, value_told, done
        if f == "poll":
            first, last = about
            shown = [[at, 100 + at] for at in self.log[first : last + 1]]
            return f, "ok", [["poll", {"x": shown}]], Done(f, 0, 0, self.log[last], True)
        high = self.log[about] + 1
        if not dense and about + 1 < len(self.log):
            high = dice.randint(high, self.log[about + 1])
        return f, "ok", {"high": {"x": high}}, Done(f, 0, 0, high, True)

    def told(self) -> tuple[list[Op], list[Done]]:
        """Rows in the order of time, and the operations with their rows."""
        moments = sorted(
            (moment, number, half)
            for number, span in enumerate(self.spans)
            for half, moment in enumerate(span)
        )
        rows: list[Op] = []
        calls: dict[int, int] = {}
        rets: dict[int, int] = {}
        for _, number, half in moments:
            f, outcome, value, _ = self.done[number]
            at = len(rows)
            if half == 0:
                calls[number] = at
                asked = [["send", "x", value[0][2][1]]] if f == "send" else None
                rows.append(Op(at, at, number, "invoke", f, asked))
            else:
                rets[number] = at if outcome == "ok" else _NEVER
                rows.append(Op(at, at, number, outcome, f, value))
        done = [
            Done(one.f, calls[number], rets[number], one.offset, one.needed)
            for number, (_, _, _, one) in enumerate(self.done)
        ]
        return rows, done


def difference(dice: Random, *, dense: bool) -> tuple[bool, bool, list[Op]]:
    """Whether the checker finds nothing, whether there is an order; and the history."""
    rows, done = Story(dice, dense=dense).told()
    if not dense:
        # Nobody can say where a record is that nobody saw; with gaps there is room for it anywhere.
        done = [one for one in done if one.f != "send" or one.offset is not None]
    light = LightHistory(rows)
    evidence = Evidence(light, facts=LogFacts(light.columns))
    contract = Contract(dense_offsets=dense, exact_ends=True)
    # An end that goes back has a name of its own.
    names = ("nonlinearizable-log", "watermark-regression")
    found = sum(all_checkers()[name].look(evidence, contract).count for name in names)
    return found == 0, is_linearizable(done, dense=dense), rows
