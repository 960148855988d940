"""A bank: money moves between accounts, and every read of them all adds up to the same."""

from __future__ import annotations

from typing import Any

from checkers.columns import OK
from checkers.counts.told import Found, judged
from checkers.linear.calls import Call, calls
from checkers.models import Question
from checkers.stored import StoredHistory, columns_of
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.json_text import shown


def bank(history: History | StoredHistory, question: Question) -> Verdict:
    """The total is given as initial value, a number or the accounts; else the first read's."""
    columns = columns_of(history)
    reads = [
        call
        for call in calls(columns, "read")
        if call.outcome == OK and isinstance(call.value, dict)
    ]
    accounts = question.initial if isinstance(question.initial, dict) else None
    total = question.initial if isinstance(question.initial, int) else None
    if accounts is not None:
        total = sum(accounts.values())
    # What the first read said goes with what contradicts it.
    by_accounts: tuple[int, ...] = ()
    by_total: tuple[int, ...] = ()
    if reads and accounts is None:
        accounts, by_accounts = reads[0].value, (reads[0].row,)
    if reads and total is None:
        total = sum(value or 0 for value in reads[0].value.values())
        by_total = (reads[0].row,)
    names = {str(name) for name in accounts or {}}
    found: list[Found] = []
    for read in reads:
        for type_, sentence, witness in _wrongs(read, names, total or 0):
            besides = {"unexpected-key": by_accounts, "wrong-total": by_total}.get(type_, ())
            found.append((type_, (*besides, read.row), sentence, witness))
    nothing = "" if reads else "the accounts were never read"
    return judged(columns, found, {"reads": len(reads), "total": total}, nothing)


def _wrongs(read: Call, names: set[str], total: int) -> list[tuple[str, str, dict[str, Any]]]:
    balances: dict[str, Any] = {str(name): value for name, value in read.value.items()}
    strange = sorted(set(balances) - names)
    if strange:
        sentence = f"a read has unknown accounts: {', '.join(strange)}"
        return [("unexpected-key", sentence, {"unexpected": strange})]
    missing = sorted(name for name, value in balances.items() if value is None)
    if missing:
        sentence = f"a read has no balance for {', '.join(missing)}"
        return [("nil-balance", sentence, {"nils": missing})]
    found: list[tuple[str, str, dict[str, Any]]] = []
    real = sum(balances.values())
    if real != total:
        sentence = f"a read adds up to {real}, and the total is {total}"
        found.append(("wrong-total", sentence, {"total": real, "expected": total}))
    negative = {name: value for name, value in sorted(balances.items()) if value < 0}
    if negative:
        sentence = f"a read has negative balances: {shown(negative)}"
        found.append(("negative-value", sentence, {"negative": negative}))
    return found
