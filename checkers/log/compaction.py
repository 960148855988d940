"""Compacted topics as registers: a key's last value stays, and what was replaced stays away."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from checkers.checker import Checker, of_facts
from checkers.clauses import LOSS, never
from checkers.columns import INFO, OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.registers import Access, Register, Stale, stale_reads
from checkers.log.words import key_text, value_text, who
from harness.history import kinds

_NEVER = 1 << 62


def _accesses(facts: LogFacts, wanted: tuple[int, ...]) -> Iterator[tuple[int, int, Any]]:
    """Rows, keys and values of completed operations; a value of null is none."""
    columns, elements = facts.columns, facts.columns.elements
    for element in facts.of_kind(*wanted).tolist():
        row = int(elements.op[element])
        if columns.outcome[row]:
            value = columns.value_of(element) if elements.told[element] else None
            yield row, int(elements.key[element]), value


def _registers(facts: LogFacts) -> tuple[dict[int, Register], int]:
    columns = facts.columns
    registers: dict[int, Register] = defaultdict(Register)
    reads = 0
    for row, key, value in _accesses(facts, (kinds.PUT, kinds.PUT_AT)):
        outcome = columns.outcome[row]
        if outcome in (OK, INFO):
            ret = row if outcome == OK else _NEVER
            write = Access(_hashable(value), int(columns.call[row]), ret, outcome == OK)
            registers[key].writes.append(write)
    for row, key, value in _accesses(facts, (kinds.GET,)):
        if columns.outcome[row] == OK:
            reads += 1
            registers[key].reads.append(Access(_hashable(value), int(columns.call[row]), row))
    return registers, reads


def _hashable(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value


def _stale(facts: LogFacts, type_: str, *, lost: bool) -> Findings:
    registers, reads = _registers(facts)
    stale = [
        (key, one)
        for key, register in sorted(registers.items())
        for one in stale_reads(register)
        if (one.read.value is None) is lost
    ]
    return Findings(
        found=tuple(
            sorted(
                (_told(facts, type_, *item) for item in stale[:SHOWN]),
                key=lambda finding: finding.ops,
            )
        ),
        count=len(stale),
        looked_at=reads,
        nothing="no key was read",
    )


def _told(facts: LogFacts, type_: str, key: int, stale: Stale) -> Finding:
    columns, read, last = facts.columns, stale.read, stale.replaced_by
    rows = {read.ret} | ({last.ret} if last is not None else set())
    name = key_text(facts, key)
    if last is None:
        earlier = f"no process had put {value_text(read.value)} to {name}"
    elif last.value is None:
        earlier = f"{who(facts, last.ret)} deleted {name}"
    else:
        earlier = f"{who(facts, last.ret)} put {value_text(last.value)} to {name}"
    got = "nothing" if read.value is None else value_text(read.value)
    return Finding(
        type=type_,
        ops=tuple(sorted(columns.index_of(row) for row in rows)),
        because=f"{earlier}, and after that {who(facts, read.ret)} got {got}",
        witness={"key": columns.key_of(key), "got": read.value, "put": last and last.value},
    )


def compaction_lost_keys(facts: LogFacts) -> Findings:
    return _stale(facts, "compaction-lost-key", lost=True)


def compaction_resurrected_keys(facts: LogFacts) -> Findings:
    return _stale(facts, "compaction-resurrected-key", lost=False)


CHECKERS = (
    Checker(
        name="compaction-lost-key",
        about="A key that no process deleted is gone.",
        look=of_facts(compaction_lost_keys),
        rows=(
            *LOSS,
            never("Compaction keeps the last value of every key."),
        ),
        model="kafka",
    ),
    Checker(
        name="compaction-resurrected-key",
        about="A value came back that had been replaced or deleted.",
        look=of_facts(compaction_resurrected_keys),
        rows=(
            *LOSS,
            never("A value that was overwritten or deleted does not come back."),
        ),
        model="kafka",
    ),
)
