"""bank-total and oversold: what a consumer has read of a ledger is no whole number of deals.

A deal is a transaction that writes one entry to each of several partitions. Transactions promise no
snapshot: a consumer may have read one entry while the other lies beyond what it has read of that
partition. So a view counts what it covers: for each partition the offsets from the first to the
last record that the polls of a process returned. If one entry of a deal is in the view, and the
place of another is covered, the other must be in the view as well. An entry that no poll returned
has no place; when everything was read back, it is missing from every view.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from checkers.checker import Checker, Need, of_facts
from checkers.clauses import LOSS, UNCOMMITTED, WITHOUT, never
from checkers.columns import OK
from checkers.findings import SHOWN, Finding, Findings
from checkers.log.facts import LogFacts
from checkers.log.late_requests import row_of_late_request
from checkers.log.words import key_text, value_text, who
from harness.client.entries import Entry, entry_of
from harness.history import kinds


@dataclass(slots=True)
class _View:
    """What the polls of one process returned."""

    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By key: the first and the last offset."""
    parts: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """By deal and part: the row of the poll."""

    def covers(self, key: int, offset: int) -> bool:
        first, last = self.spans.get(key, (0, -1))
        return first <= offset <= last


@dataclass(slots=True)
class _Books:
    views: dict[int, _View] = field(default_factory=lambda: defaultdict(_View))
    """By process."""
    places: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """By deal and part: the key and the offset at which a poll returned the entry."""
    sent: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    """By deal and part: the row of the send, the key and the value."""
    total: int = 0
    """What all visible entries of transfers add up to: first entries pay, second ones receive."""


@dataclass(frozen=True, slots=True)
class _Half:
    """A deal of which a view has one entry and lacks another."""

    deal: int
    process: int | None
    """None: the entry is missing from every view."""
    shown: int
    missing: int
    poll: int


Told = Callable[[LogFacts, _Books, _Half], str]


def _books(facts: LogFacts) -> _Books:
    columns, elements = facts.columns, facts.columns.elements
    books = _Books()
    for element in facts.of_kind(kinds.SEND, kinds.SENT).tolist():
        row = columns.row_of(element)
        entry = entry_of(columns.value_of(element))
        if entry is not None and columns.outcome[row] > 0:
            value = columns.value_of(element)
            books.sent[entry.deal, entry.part] = row, int(elements.key[element]), value
    records = facts.of_kind(kinds.RECORD)
    is_ok = columns.outcome[elements.op[records]] == OK
    for element in records[is_ok].tolist():
        _read(facts, books, element, entry_of(columns.value_of(element)))
    return books


def _read(facts: LogFacts, books: _Books, element: int, entry: Entry | None) -> None:
    columns, elements = facts.columns, facts.columns.elements
    row = columns.row_of(element)
    key, offset = int(elements.key[element]), int(elements.offset[element])
    view = books.views[int(columns.ops.process[row])]
    first, last = view.spans.get(key, (offset, offset))
    view.spans[key] = min(first, offset), max(last, offset)
    if entry is None:
        return
    view.parts[entry.deal].setdefault(entry.part, row)
    if (entry.deal, entry.part) not in books.places:
        books.places[entry.deal, entry.part] = key, offset
        books.total += entry.amount if entry.part else -entry.amount


def _halves(books: _Books) -> list[_Half]:
    """Of each deal the first."""
    found: dict[int, _Half] = {}
    parts = {deal: _parts_of(books, deal) for deal, _ in books.places}
    for process, view in sorted(books.views.items()):
        for deal, rows in view.parts.items():
            for part in range(parts[deal]):
                if part in rows or deal in found:
                    continue
                place = books.places.get((deal, part))
                if place is not None and not view.covers(*place):
                    continue
                shown = min(rows)
                of = process if place is not None else None
                found[deal] = _Half(deal, of, shown, part, rows[shown])
    return sorted(found.values(), key=lambda half: half.poll)


def _parts_of(books: _Books, deal: int) -> int:
    return max((part + 1 for part in range(3) if (deal, part) in books.sent), default=0)


def _ledger(facts: LogFacts, type_: str, told: Told) -> Findings:
    books = _books(facts)
    halves = _halves(books)
    columns = facts.columns
    found = []
    for half in halves[:SHOWN]:
        writer = books.sent[half.deal, half.missing][0]
        found.append(
            Finding(
                type=type_,
                ops=tuple(sorted({columns.index_of(writer), columns.index_of(half.poll)})),
                because=told(facts, books, half),
                witness={
                    "deal": value_text(half.deal),
                    "shown": half.shown,
                    "missing": half.missing,
                    "writer": columns.index_of(writer),
                    "reader": columns.index_of(half.poll),
                },
                row=row_of_late_request(facts, writer),
            )
        )
    return Findings(
        found=tuple(found),
        count=len(halves),
        looked_at=len({deal for deal, _ in books.places}),
        nothing="no entry of any deal was read",
        stats={"deals": len({deal for deal, _ in books.places}), "off-by": books.total},
    )


def _where(facts: LogFacts, books: _Books, half: _Half, part: int) -> str:
    _, key, value = books.sent[half.deal, part]
    return f"{value_text(value)} in {key_text(facts, key)}"


def _not_returned(half: _Half) -> str:
    return "no poll returned" if half.process is None else "its process read past"


def _told_of_bank(facts: LogFacts, books: _Books, half: _Half) -> str:
    writer = books.sent[half.deal, half.missing][0]
    names = ("the debit", "the credit")
    return (
        f"the accounts do not add up: of the transfer of {who(facts, writer)}, "
        f"{who(facts, half.poll)} read {names[half.shown]} "
        f"{_where(facts, books, half, half.shown)}, and {_not_returned(half)} "
        f"{names[half.missing]} {_where(facts, books, half, half.missing)}; "
        f"all that was read is off by {books.total}"
    )


_PARTS = ("the payment", "the order", "the item")
_ITEM = 2


def _told_of_shop(facts: LogFacts, books: _Books, half: _Half) -> str:
    writer = books.sent[half.deal, half.missing][0]
    is_left = half.missing == _ITEM and half.process is None
    return (
        f"of the order of {who(facts, writer)}, {who(facts, half.poll)} read "
        f"{_PARTS[half.shown]} {_where(facts, books, half, half.shown)}, and {_not_returned(half)} "
        f"{_PARTS[half.missing]} {_where(facts, books, half, half.missing)}"
        f"{': the item is paid for and still in stock' if is_left else ''}"
    )


def bank_total(facts: LogFacts) -> Findings:
    return _ledger(facts, "bank-total", _told_of_bank)


def oversold(facts: LogFacts) -> Findings:
    return _ledger(facts, "oversold", _told_of_shop)


CHECKERS = (
    Checker(
        name="bank-total",
        about="The accounts, as a consumer has read them, do not add up to what they began with.",
        look=of_facts(bank_total),
        rows=(
            UNCOMMITTED,
            WITHOUT,
            *LOSS,
            never("Both entries of a transfer are read, or none: the total stays the same."),
        ),
        needs=frozenset({Need.READ_BACK}),
    ),
    Checker(
        name="oversold",
        about="An order lacks its item, its payment or its note.",
        look=of_facts(oversold),
        rows=(
            UNCOMMITTED,
            WITHOUT,
            *LOSS,
            never("The item, the payment and the order of a sale are all read, or none."),
        ),
        needs=frozenset({Need.READ_BACK}),
    ),
)
