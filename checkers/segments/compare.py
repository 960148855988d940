"""A history against what brokers stored: what clients were told must be in the log, and nothing
else may be.

A log is settled where most of its replicas were kept, all of them can be read, and no file is
missing: otherwise the latest may be another, and nobody is accused by what this one has or lacks.
Absence proves a loss in a settled log that reaches past the offset, or of which as many replicas
were kept as there are; what may have been deleted or compacted away proves nothing. A send of
unknown outcome is decided here: it is stored, or it is not.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from checkers.columns import INFO, OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import POLL, SEND, LogFacts
from checkers.log.foreign import written_otherwise
from checkers.log.late_requests import row_of_late_request
from checkers.log.words import value_text, who
from checkers.segments.replicas import Replica
from checkers.segments.truth import Fate, Log, Stored, divergences, logs_of, records_of

_OF_VALUES = ("lost-write", "G1a", "failed-but-stored")
"""Findings about a value, by its number, and"""
_OF_ROWS = ("torn-transaction",)
"""about a transaction, by its row: a late request may explain them."""
_HARMLESS = (Fate.ABORTED, Fate.OPEN)


class Comparison:
    """Findings by type; each value is told of once for each."""

    def __init__(self, facts: LogFacts, replicas: Iterable[Replica], copies: int) -> None:
        self.facts = facts
        self.replicas = list(replicas)
        self.copies = copies
        self.found: dict[str, dict[Any, Finding]] = defaultdict(dict)
        self.decided: Counter[str] = Counter()
        names = {str(facts.columns.key_of(key)): key for key in range(facts.key_count)}
        self.logs = {
            names[name]: log for name, log in logs_of(self.replicas).items() if name in names
        }
        self.numbers = _numbers(facts)
        self.written = written_otherwise(facts)
        self.places: dict[int, list[int]] = defaultdict(list)
        """For each number of a value, where the log has it."""
        self._others: dict[int, dict[Any, tuple[str, int]]] = {}
        """By key, values of the replicas that do not stand for the log; found when asked for."""
        for key, log in self.logs.items():
            for offset, stored in log.records.items():
                number = self.numbers.get((key, _mark(stored.value)))
                if number is not None:
                    self.places[number].append(offset)

    def findings(self) -> Findings:
        self._claims()
        for key, log in self.logs.items():
            self._contents(key, log)
            if not self._unsettled(log):
                self._order(key, log)
        self._transactions()
        self._replicas()
        found = [one for type_ in sorted(self.found) for one in self._shown(type_)]
        return Findings(
            found=tuple(found),
            count=sum(map(len, self.found.values())),
            looked_at=sum(len(log.records) for log in self.logs.values()),
            nothing="no segment belongs to a log of this history",
            stats={
                "replicas": len(self.replicas),
                "records": sum(len(log.records) for log in self.logs.values()),
                "told": dict(sorted(self.decided.items())),
                "unsettled": {
                    log.name: why for log in self.logs.values() if (why := self._unsettled(log))
                },
            },
        )

    def _shown(self, type_: str) -> list[Finding]:
        return sorted(self.found[type_].values(), key=lambda one: (one.ops, one.because))[:SHOWN]

    def _add(self, type_: str, of: Any, rows: Iterable[int], because: str, **witness: Any) -> None:
        ops = tuple(sorted({self.facts.columns.index_of(row) for row in rows}))
        writer = -1
        if type_ in _OF_ROWS:
            writer = of
        elif type_ in _OF_VALUES:
            writer = int(self.facts.values.writer[of])
        finding = Finding(
            type=type_,
            ops=ops,
            because=because,
            witness={**witness, "by": "segments"},
            row=row_of_late_request(self.facts, writer) if writer >= 0 else "",
        )
        self.found[type_].setdefault(of, finding)

    def _good(self, key: int, number: int) -> list[int]:
        records = self.logs[key].records
        return [at for at in self.places[number] if records[at].fate is not Fate.ABORTED]

    def _claims(self) -> None:
        for row, element, role, key, number in _spoken(self.facts):
            if key not in self.logs:
                continue
            if role == POLL:
                self._polled(row, element, key, number)
                continue
            match int(self.facts.columns.outcome[row]):
                case 1:  # ok
                    self._acked(row, element, key, number)
                case 2:  # info
                    self._unknown(key, number)
                case _:
                    self._failed(row, key, number)

    def _acked(self, row: int, element: int, key: int, number: int) -> None:
        log, told = self.logs[key], int(self.facts.columns.elements.offset[element])
        value = self.facts.columns.value_of(element)
        at = f"at offset {told}" if told >= 0 else "somewhere"
        claim = f"{who(self.facts, row)} sent {value_text(value)}, acknowledged {at} of {log.name}"
        good = self._good(key, number)
        there = log.records.get(told)
        witness = {"key": log.name, "value": value, "offset": told if told >= 0 else None}
        strays = told >= 0 and told not in self.places[number] and told >= log.start
        if good and strays and not self._unsettled(log):
            self._contradicted(number, row, claim, log, there, {**witness, "stored": good})
        elif good or (0 <= told < log.start):
            self.decided["ok: stored" if good else "ok: may have been deleted"] += 1
        elif self.places[number] and not self._unsettled(log):
            because = f"{claim}; {log.by} has it in a transaction that was aborted"
            self._add("lost-write", number, [row], because, **witness)
        elif self._proves_absence(log, told):
            if there is not None:
                self._contradicted(number, row, claim, log, there, witness)
            self._add(
                "lost-write",
                number,
                [row],
                f"{claim}; {self._absence(log, key, value)}",
                **witness,
            )
        elif not log.is_whole and self._elsewhere(key, value):
            self.decided["ok: stored"] += 1
        else:
            self.decided["ok: cannot be said"] += 1

    def _contradicted(
        self,
        number: int,
        row: int,
        claim: str,
        log: Log,
        there: Stored | None,
        witness: dict[str, Any],
    ) -> None:
        offset = witness["offset"]
        has = "nothing" if there is None else value_text(there.value)
        self._add(
            "inconsistent-offsets",
            number,
            [row],
            f"{claim}; {log.by} has {has} at offset {offset}"
            + (f", and that value at {witness['stored']}" if "stored" in witness else ""),
            **witness,
        )

    def _unsettled(self, log: Log) -> str:
        """Why nobody can be accused by what is there, if so."""
        if not log.is_whole:
            return "a replica is damaged, torn or has a segment missing"
        if 2 * len(log.nodes) <= self.copies:
            return f"of {self.copies} replicas only {len(log.nodes)} can be read"
        return ""

    def _elsewhere(self, key: int, value: Any) -> tuple[str, int] | None:
        """Which other replica has a value, and where."""
        if key not in self._others:
            log = self.logs[key]
            self._others[key] = {
                _mark(stored.value): (replica.node, offset)
                for replica in self.replicas
                if replica.log == log.name and replica.node != log.by
                for offset, stored in records_of(replica).items()
                if stored.fate is not Fate.ABORTED
            }
        return self._others[key].get(_mark(value))

    def _absence(self, log: Log, key: int, value: Any) -> str:
        other = self._elsewhere(key, value)
        if other is None:
            return f"it is in no segment of {', '.join(log.nodes)}; the log ends at {log.end}"
        node, offset = other
        return f"the log of {log.by} lacks it; only {node} has it, at offset {offset}"

    def _proves_absence(self, log: Log, offset: int) -> bool:
        if log.is_compacted or self._unsettled(log):
            return False
        if offset < 0:
            return log.start == 0 and len(log.nodes) >= self.copies
        return log.holds(offset) or len(log.nodes) >= self.copies

    def _unknown(self, key: int, number: int) -> None:
        log = self.logs[key]
        if self._good(key, number):
            self.decided["info: stored"] += 1
        elif self.places[number] and not self._unsettled(log):
            self.decided["info: aborted"] += 1
        elif self._proves_absence(log, -1):
            self.decided["info: not stored"] += 1
        else:
            self.decided["info: cannot be said"] += 1

    def _failed(self, row: int, key: int, number: int) -> None:
        log = self.logs[key]
        stored = [at for at in self.places[number] if log.records[at].fate not in _HARMLESS]
        # Another send of the same value may have gone well.
        if not stored or int(self.facts.values.writer[number]) != row or self._unsettled(log):
            return
        value = log.records[stored[0]].value
        self._add(
            "failed-but-stored",
            number,
            [row],
            f"{who(self.facts, row)} failed to send {value_text(value)} to {log.name}, and "
            f"{log.by} has it at offset {stored[0]}",
            key=log.name,
            value=value,
            offset=stored[0],
        )

    def _polled(self, row: int, element: int, key: int, number: int) -> None:
        log, offset = self.logs[key], int(self.facts.columns.elements.offset[element])
        if offset < log.start:
            return
        value = self.facts.columns.value_of(element)
        claim = f"{who(self.facts, row)} polled {value_text(value)} at offset {offset}"
        claim += f" of {log.name}"
        there = log.records.get(offset)
        witness = {"key": log.name, "value": value, "offset": offset}
        if there is None:
            if self._proves_absence(log, offset):
                because = f"{claim}; {self._absence(log, key, value)}"
                self._add("lost-write", number, [row], because, **witness)
        elif self._unsettled(log):
            return
        elif _mark(there.value) != _mark(value):
            self._contradicted(number, row, claim, log, there, witness)
        elif there.fate is Fate.ABORTED:
            because = f"{claim}; {log.by} has it in a transaction that was aborted"
            self._add("G1a", number, [row], because, **witness)

    def _contents(self, key: int, log: Log) -> None:
        writer = self.facts.values.writer
        for offset, stored in log.records.items():
            number = self.numbers.get((key, _mark(stored.value)))
            if stored.fate is Fate.ABORTED:
                continue
            witness = {"key": log.name, "value": stored.value}
            if number is None or writer[number] < 0:
                # What was appended or put has checkers of its own.
                if (log.name, json.dumps(stored.value, sort_keys=True)) in self.written:
                    continue
                self._add(
                    "phantom-record",
                    (key, offset),
                    [],
                    (
                        f"{log.by} has {value_text(stored.value)} at offset {offset} of "
                        f"{log.name}, and no process sent it there"
                    ),
                    **witness,
                    offset=offset,
                )
            elif (good := self._good(key, number))[1:] and not self._unsettled(log):
                row = int(writer[number])
                self._add(
                    "duplicate",
                    number,
                    [row],
                    f"{who(self.facts, row)} sent {value_text(stored.value)} to {log.name}, and "
                    f"{log.by} has it at the offsets {', '.join(map(str, sorted(good)))}",
                    **witness,
                    offsets=sorted(good),
                )

    def _order(self, key: int, log: Log) -> None:
        """Records that were acknowledged before one at a lower offset was begun: with segments,
        also of sends whose offset no client ever learnt."""
        columns, writers = self.facts.columns, self.facts.values.writer
        latest, whose = -1, -1
        for offset in sorted(log.records):
            number = self.numbers.get((key, _mark(log.records[offset].value)))
            if number is None or writers[number] < 0 or len(self.places[number]) > 1:
                continue
            row = int(writers[number])
            call = int(columns.call[row])
            if columns.outcome[row] == OK and latest > row:
                late = int(writers[self.numbers[key, _mark(log.records[whose].value)]])
                self._add(
                    "nonlinearizable-log",
                    (key, offset),
                    [row, late],
                    (
                        f"{who(self.facts, row)} sent a record, acknowledged at offset "
                        f"{offset} of {log.name}; only later {who(self.facts, late)} began "
                        f"to send {value_text(log.records[whose].value)}, which {log.by} has "
                        f"at {whose}"
                    ),
                    key=log.name,
                    offset=offset,
                )
            if call > latest:
                latest, whose = call, offset

    def _transactions(self) -> None:
        sent: dict[int, list[tuple[int, int]]] = defaultdict(list)
        is_txn = self.facts.columns.has_f("txn", "transform")
        for row, _, role, key, number in _spoken(self.facts):
            if role == SEND and is_txn[row] and self.facts.columns.outcome[row] in (OK, INFO):
                sent[row].append((key, number))
        for row, records in sent.items():
            known = [
                (key, number)
                for key, number in records
                if key in self.logs and not self._unsettled(self.logs[key])
            ]
            shown = [one for one in known if self._good(*one)]
            missing = [
                (key, number)
                for key, number in known
                if not self._good(key, number)
                and (self.places[number] or self._proves_absence(self.logs[key], -1))
            ]
            if shown and missing:
                (here, one), (there, other) = shown[0], missing[0]
                self._add(
                    "torn-transaction",
                    row,
                    [row],
                    f"of the transaction of {who(self.facts, row)}, {self.logs[here].name} has the "
                    f"record at offset {self._good(here, one)[0]}, and {self.logs[there].name} "
                    f"{'has aborted another' if self.places[other] else 'lacks another'}",
                    keys=[self.logs[here].name, self.logs[there].name],
                )

    def _replicas(self) -> None:
        for split in divergences(self.replicas):
            one, other = split.nodes
            self._add(
                "divergent-replicas",
                (split.log, other),
                [],
                (
                    f"at offset {split.offset} of {split.log} {one} has {split.texts[0]} and "
                    f"{other} has {split.texts[1]}, although both had the same leader at "
                    f"offset {split.agreed}"
                ),
                key=split.log,
                offset=split.offset,
                nodes=list(split.nodes),
            )
        for replica in self.replicas:
            for damage in replica.damage:
                because = f"{replica.node}, {replica.log}: {damage}"
                self._add("damaged-segment", because, [], because, key=replica.log)


def _spoken(facts: LogFacts) -> Iterator[tuple[int, int, int, int, int]]:
    """Row, element, role, key and number of what completed operations sent and polled."""
    key, number, role = facts.columns.elements.key, facts.number, facts.role
    for row in np.flatnonzero(facts.columns.outcome > 0).tolist():
        for element in range(int(facts.begin[row]), int(facts.end[row])):
            if number[element] >= 0 and role[element]:
                yield row, element, int(role[element]), int(key[element]), int(number[element])


def _numbers(facts: LogFacts) -> dict[tuple[int, Any], int]:
    """By key and value."""
    numbers, firsts = np.unique(facts.number, return_index=True)
    return {
        (int(facts.columns.elements.key[element]), _mark(facts.columns.value_of(element))): number
        for number, element in zip(numbers.tolist(), firsts.tolist(), strict=True)
        if number >= 0
    }


def _mark(value: Any) -> Any:
    """Something that can be looked up, the same for equal values only."""
    return value if type(value) in (int, str) else json.dumps(value, sort_keys=True), type(value)
