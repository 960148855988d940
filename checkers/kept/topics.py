"""phantom-topic and lost-change: what describes showed, against what was made, altered, deleted.

A describe is answered by whichever broker is asked, from what it has heard of the metadata so far;
one that is cut off may be behind for as long as it is. So while a run goes on a describe is only
held to this: it shows something that was the case, or may have been, at some moment before it
ended. A describe that says `settled` was asked when all was healed and every broker had caught up:
it must show what the acknowledged changes have come to. Partitions are only ever added, so a topic
has as many as the greatest number that was acknowledged, or more; how many it began with is not
known of a topic that was there before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from checkers.checker import Checker, Need, of_facts
from checkers.clauses import UNSAFE, never
from checkers.columns import FAIL, OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.words import value_text, who

_CHANGES = ("create", "create-partitions", "alter", "delete")


class _Step(NamedTuple):
    """A change or a describe of one topic, as far as it may have happened."""

    f: str
    value: Mapping[str, Any]
    row: int
    call: int
    is_ok: bool

    @property
    def partitions(self) -> int:
        """0 where the value names no number."""
        told = self.value.get("partitions")
        return told if isinstance(told, int) else 0

    @property
    def configs(self) -> Mapping[str, Any]:
        return self.value.get("configs") or {}


@dataclass(slots=True)
class _Topic:
    is_ours: bool = False
    """Somebody tried to make it, or to add partitions to it."""
    changes: list[_Step] = field(default_factory=list)
    describes: list[_Step] = field(default_factory=list)

    def before(self, describe: _Step, *names: str) -> list[_Step]:
        return [each for each in self.changes if each.f in names and each.call < describe.row]


def _topics(facts: LogFacts) -> dict[str, _Topic]:
    topics: dict[str, _Topic] = {}
    for step, outcome in _steps(facts):
        topic = topics.setdefault(str(step.value["topic"]), _Topic())
        topic.is_ours |= step.f in ("create", "create-partitions")
        if step.f == "describe":
            if step.is_ok:
                topic.describes.append(step)
        elif outcome != FAIL:
            topic.changes.append(step)
    return {name: topic for name, topic in sorted(topics.items()) if topic.is_ours}


def _steps(facts: LogFacts) -> Iterator[tuple[_Step, int]]:
    columns = facts.columns
    begin, end = columns.spans
    wanted = columns.has_f(*_CHANGES, "describe") & (columns.outcome > 0)
    wanted &= columns.ops.process >= 0
    for row in np.flatnonzero(wanted).tolist():
        if begin[row] < end[row]:
            value = columns.value_of(int(begin[row]))
            if isinstance(value, dict) and "topic" in value:
                outcome = int(columns.outcome[row])
                f = columns.ops.names[columns.ops.f[row]]
                yield _Step(f, value, row, int(columns.call[row]), outcome == OK), outcome


def phantom_topics(facts: LogFacts) -> Findings:
    found: list[Finding] = []
    looked_at = 0
    for name, topic in _topics(facts).items():
        for describe in topic.describes:
            looked_at += 1
            strange = _strange(topic, describe)
            if strange is not None:
                sentence = f"{who(facts, describe.row)} was shown {name} with {strange}"
                found.append(_finding(facts, "phantom-topic", name, [describe.row], sentence))
    return _findings(found, looked_at)


def _strange(topic: _Topic, describe: _Step) -> str | None:
    """What of this describe can never have been the case."""
    partitions = describe.value.get("partitions")
    if partitions is None:
        return None  # it may not have been made yet, or be deleted by now
    made = topic.before(describe, "create")
    grown = [each.partitions for each in topic.before(describe, "create-partitions")]
    if not made:
        # It was there before, so there may be as many as it began with, and settings of its own.
        is_possible = partitions in grown or describe.partitions <= min(grown, default=0)
        return None if is_possible else f"{partitions} partitions, which no operation had asked for"
    if partitions not in [*(each.value.get("partitions") for each in made), *grown]:
        return f"{partitions} partitions, which no operation had asked for"
    changes = topic.before(describe, "create", "alter")
    for config in sorted({name for each in (*changes, describe) for name in each.configs}):
        shown = describe.configs.get(config)
        possible = [
            each.configs.get(config)
            for each in changes
            if each.f == "create" or config in each.configs
        ]
        if shown not in possible:
            return f"{config}={value_text(shown)}, which no operation had set"
    return None


def lost_changes(facts: LogFacts) -> Findings:
    found: list[Finding] = []
    looked_at = 0
    for name, topic in _topics(facts).items():
        for describe in topic.describes:
            if not describe.value.get("settled"):
                continue
            looked_at += 1
            lost = _lost(topic, describe)
            if lost is not None:
                rows = sorted({describe.row, *(each.row for each in lost.against)})
                sentence = (
                    f"{', and '.join(_told(facts, name, each) for each in lost.against)}; "
                    f"after healing {who(facts, describe.row)} was shown {lost.shown}"
                )
                found.append(_finding(facts, "lost-change", name, rows, sentence))
    return _findings(found, looked_at)


class _Lost(NamedTuple):
    against: Sequence[_Step]
    shown: str


def _lost(topic: _Topic, describe: _Step) -> _Lost | None:
    lives = topic.before(describe, "create", "delete")
    is_there = describe.value.get("partitions") is not None
    newest = _newest(lives)
    # A change of unknown outcome may have come at any time since.
    wanted = "create" if is_there else "delete"
    maybe = any(each.f == wanted for each in lives if not each.is_ok or each in newest)
    if newest and not maybe:
        return _Lost(newest, "a topic" if is_there else "no such topic")
    if is_there and not any(each.f == "delete" for each in lives):
        added = [each for each in topic.before(describe, "create-partitions") if each.is_ok]
        most = max(added, key=lambda each: each.partitions, default=None)
        if most is not None and describe.partitions < most.partitions:
            return _Lost([most], f"{describe.partitions} partitions")
    if not is_there or len(lives) != 1:
        return None
    changes = topic.before(describe, "create", "alter")
    for config in sorted({name for each in changes for name in each.configs}):
        mine = [each for each in changes if each.f == "create" or config in each.configs]
        newest = _newest(mine)
        possible = [each.configs.get(config) for each in mine if not each.is_ok or each in newest]
        shown = describe.configs.get(config)
        if newest and shown not in possible:
            return _Lost(newest, f"{config}={value_text(shown)}")
    return None


def _newest(changes: Sequence[_Step]) -> list[_Step]:
    """Those that are certain, and not followed by one that is."""
    certain = [each for each in changes if each.is_ok]
    begun = max((each.call for each in certain), default=-1)
    return [each for each in certain if each.row > begun]


def _told(facts: LogFacts, name: str, change: _Step) -> str:
    if change.f == "alter":
        return f"{who(facts, change.row)} set {value_text(dict(change.configs))} of {name}"
    if change.f == "create-partitions":
        return f"{who(facts, change.row)} gave {name} {change.partitions} partitions"
    return f"{who(facts, change.row)} {'made' if change.f == 'create' else 'deleted'} {name}"


def _finding(facts: LogFacts, type_: str, name: str, rows: Sequence[int], sentence: str) -> Finding:
    ops = tuple(facts.columns.index_of(row) for row in rows)
    return Finding(type=type_, ops=ops, because=sentence, witness={"topic": name})


def _findings(found: list[Finding], looked_at: int) -> Findings:
    shown = tuple(sorted(found, key=lambda finding: finding.ops)[:SHOWN])
    nothing = "no created topic was described, or none after healing"
    return Findings(found=shown, count=len(found), looked_at=looked_at, nothing=nothing)


CHECKERS = (
    Checker(
        name="phantom-topic",
        about="A describe showed a topic with properties that no operation had given it.",
        look=of_facts(phantom_topics),
        rows=(never("A describe shows a topic as it was created and altered up to some moment."),),
        stands=True,
    ),
    Checker(
        name="lost-change",
        about="A describe after healing contradicts an acknowledged change.",
        look=of_facts(lost_changes),
        rows=(
            UNSAFE,
            never("After healing, every broker knows every acknowledged change of a topic."),
        ),
        needs=frozenset({Need.READ_BACK, Need.HEALED}),
    ),
)
