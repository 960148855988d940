"""at-least-once: a group commits only what it was given, and in the end it was given everything.

A record is returned to a group by an `ok` poll of one of its members. Which group a process is in
is known from its rows about the group (assigned, commit). For each group and record the first such
poll is looked up once; a commit of offset n then needs all of them, below n, to lie before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.arrays import Ints64
from checkers.checker import Checker, Need, of_facts
from checkers.clauses import LOSS, UNSAFE, never
from checkers.columns import OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.groups import GroupRow, group_rows
from checkers.log.words import key_text, of_number, value_text, who
from harness.history import kinds

_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class _Delivered:
    """To one group: the row of the first poll that returned each record, by slot."""

    first: Ints64
    worst: Ints64
    """For each slot the latest of `first` from the beginning of its log up to it."""


def _groups_of_processes(facts: LogFacts) -> dict[int, str]:
    columns = facts.columns
    found: dict[int, str] = {}
    for row in group_rows(facts, "assigned", "revoked", "lost"):
        found.setdefault(int(columns.ops.process[row.row]), row.group)
    return found


def _delivered(facts: LogFacts) -> dict[str, _Delivered]:
    columns, elements = facts.columns, facts.columns.elements
    records = facts.of_kind(kinds.RECORD)
    rows = elements.op[records]
    is_ok = columns.outcome[rows] == OK
    records, rows = records[is_ok], rows[is_ok]
    slots = facts.offset[records] + facts.shift[elements.key[records]]
    processes = columns.ops.process[rows]
    by_group: dict[str, list[int]] = {}
    for process, group in _groups_of_processes(facts).items():
        by_group.setdefault(group, []).append(process)
    found: dict[str, _Delivered] = {}
    for group, members in sorted(by_group.items()):
        mine = np.isin(processes, members)
        first = np.full(facts.slots.held.size, _NEVER, np.int64)
        np.minimum.at(first, slots[mine], rows[mine])
        found[group] = _Delivered(first, _worst(facts, first))
    return found


def _worst(facts: LogFacts, first: Ints64) -> Ints64:
    """Slots without a known record count for nothing, nor do those that retention may have cut."""
    worst = np.where(facts.slots.held >= 0, first, -1)
    start = facts.slots.start
    for key in range(facts.key_count):
        begin, end = int(start[key]), int(start[key + 1])
        worst[begin : int(facts.floors[key])] = -1
        np.maximum.accumulate(worst[begin:end], out=worst[begin:end])
    return worst


def at_least_once(facts: LogFacts) -> Findings:
    """A commit of an offset below which a record had not been returned to the group."""
    delivered = _delivered(facts)
    found: list[Finding] = []
    count = looked_at = 0
    for commit in group_rows(facts, "commit"):
        given = delivered.get(commit.group)
        if commit.outcome != OK or given is None:
            continue
        for key, offset in commit.offsets:
            looked_at += 1
            last = _last_slot(facts, key, offset)
            if offset is None or last is None or given.worst[last] < commit.call:
                continue
            count += 1
            if len(found) < SHOWN:
                found.append(_skipped(facts, commit, key, offset, given, last))
    return Findings(
        found=tuple(found),
        count=count,
        looked_at=looked_at,
        nothing="no group committed anything",
    )


def _last_slot(facts: LogFacts, key: int, offset: int | None) -> int | None:
    """The last slot of the key's log below this offset."""
    if offset is None:
        return None
    last = facts.slot_at(key, offset) - 1
    return last if last >= int(facts.slots.start[key]) else None


def _skipped(
    facts: LogFacts, commit: GroupRow, key: int, offset: int, given: _Delivered, last: int
) -> Finding:
    columns = facts.columns
    begin = int(facts.floors[key])
    late = given.first[begin : last + 1] >= commit.call
    slot = begin + int(np.flatnonzero(late & (facts.slots.held[begin : last + 1] >= 0))[0])
    value, at = of_number(facts, int(facts.slots.held[slot])), facts.offset_at(slot, key)
    return Finding(
        type="at-least-once",
        ops=(columns.index_of(commit.row),),
        because=f"{who(facts, commit.row)} committed {offset} of {key_text(facts, key)} for group "
        f"{commit.group}, but {value_text(value)} at offset {at} had not been returned to any "
        "member of the group",
        witness={"group": commit.group, "key": columns.key_of(key), "offset": at, "value": value},
    )


def undelivered(facts: LogFacts) -> Findings:
    """An acknowledged record that no poll of a group ever returned."""
    columns, elements = facts.columns, facts.columns.elements
    sent = facts.of_kind(kinds.SENT)
    sent = sent[(elements.offset[sent] >= 0) & (columns.outcome[elements.op[sent]] == OK)]
    slots = facts.offset[sent] + facts.shift[elements.key[sent]]
    is_kept = slots >= facts.floors[elements.key[sent]]
    sent, slots = sent[is_kept], slots[is_kept]
    found: list[Finding] = []
    count = looked_at = 0
    for group, given in _delivered(facts).items():
        looked_at += int(sent.size)
        missing = sent[given.first[slots] == _NEVER]
        count += int(missing.size)
        for element in missing[: SHOWN - len(found)].tolist():
            row, key = columns.row_of(element), int(elements.key[element])
            value, offset = columns.value_of(element), int(elements.offset[element])
            found.append(
                Finding(
                    type="undelivered",
                    ops=(columns.index_of(row),),
                    because=(
                        f"{who(facts, row)} sent {value_text(value)}, acknowledged at offset "
                        f"{offset} of {key_text(facts, key)}, and no poll of group {group} "
                        "returned it"
                    ),
                    witness={
                        "group": group,
                        "key": columns.key_of(key),
                        "offset": offset,
                        "value": value,
                    },
                )
            )
    return Findings(
        found=tuple(found),
        count=count,
        looked_at=looked_at,
        nothing="no record was acknowledged, or no group was assigned anything",
    )


CHECKERS = (
    Checker(
        name="at-least-once",
        about="A group committed an offset beyond a record that no poll of the group had returned.",
        look=of_facts(at_least_once),
        rows=(
            UNSAFE,
            never("Every record below a committed offset was returned to the group before."),
        ),
        model="kafka",
    ),
    Checker(
        name="undelivered",
        about="An acknowledged record was never returned to a group that read to the end.",
        look=of_facts(undelivered),
        rows=(
            *LOSS,
            never("Polls of a group that reads to the end return every acknowledged record."),
        ),
        needs=frozenset({Need.READ_BACK, Need.HEALED}),
    ),
)
