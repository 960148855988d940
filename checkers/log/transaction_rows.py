"""Rows of a history about transactional producers: how they begin, and each transaction's steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.arrays import Ints64
from checkers.log.facts import LogFacts
from harness.history import kinds


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """One row `transaction`, which stands before the completion of its operation."""

    row: int
    process: int
    id: str
    protocol: int | None
    end: str
    """committed, aborted, left (to the coordinator) or unknown."""
    fenced: bool
    steps: tuple[tuple[str, str, int], ...]
    """Name, answer and milliseconds."""


def transaction_rows(facts: LogFacts) -> list[TransactionRow]:
    found = []
    for row, value in _whole_values(facts, "transaction"):
        steps = value.get("steps")
        if not isinstance(steps, list) or not all(_is_step(step) for step in steps):
            continue
        found.append(
            TransactionRow(
                row=row,
                process=int(facts.columns.ops.process[row]),
                id=str(value.get("id")),
                protocol=value.get("protocol"),
                end=str(value.get("end")),
                fenced=bool(value.get("fenced")),
                steps=tuple((name, answer, taken) for name, answer, taken in steps),
            )
        )
    return found


def timeouts_ms(facts: LogFacts) -> list[int]:
    """transaction.timeout.ms of all producers that were begun."""
    found = []
    for _, value in _whole_values(facts, "init-transactions"):
        timeout_ms = value.get("timeout-ms")
        if isinstance(timeout_ms, int):
            found.append(timeout_ms)
    return found


def _is_step(step: Any) -> bool:
    return (
        isinstance(step, (list, tuple))
        and len(step) == 3
        and isinstance(step[0], str)
        and isinstance(step[1], str)
        and isinstance(step[2], int)
    )


def _whole_values(facts: LogFacts, f: str) -> list[tuple[int, dict[str, Any]]]:
    columns = facts.columns
    is_named = columns.has_f(f)
    if not is_named.any():
        return []
    elements: Ints64 = facts.of_kind(kinds.VALUE)
    mine = elements[is_named[columns.elements.op[elements]]]
    found = []
    for element in np.sort(mine).tolist():
        value = columns.value_of(element)
        if isinstance(value, dict):
            found.append((columns.row_of(element), value))
    return found
