"""Sets: elements are added, and the whole is read, once at the end or again and again."""

from __future__ import annotations

from collections import Counter
from typing import Any

from checkers.columns import FAIL, INFO, OK
from checkers.counts.told import Found, judged
from checkers.linear.calls import Call, calls, canonical
from checkers.models import Question
from checkers.stored import StoredHistory, columns_of
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.json_text import shown

_STRICT = ("linearizable", "strict-serializable", "strong-serializable")
_LATE = "Only a set that is promised to be linearizable is never late."


def whole_set(history: History | StoredHistory, question: Question) -> Verdict:
    """What was added for certain is in the last read, and nothing is that nobody added."""
    columns = columns_of(history)
    adds = list(calls(columns, "add"))
    reads = [call for call in calls(columns, "read") if call.outcome == OK]
    reads = [call for call in reads if isinstance(call.value, list)]
    if not reads:
        return judged(columns, [], {}, "the set was never read")
    last = reads[-1]
    seen = {canonical(value) for value in last.value}
    tried = {canonical(call.value) for call in adds}
    found: list[Found] = []
    for call in adds:
        if call.outcome == OK and canonical(call.value) not in seen:
            sentence = f"{shown(call.value)} was added and is not in the last read"
            found.append(("lost", (call.row, last.row), sentence, {"value": call.value}))
    for value in last.value:
        if canonical(value) not in tried:
            sentence = f"the last read has {shown(value)}, which no process added"
            found.append(("unexpected", (last.row,), sentence, {"value": value}))
    unsure = {canonical(call.value) for call in adds if call.outcome == INFO}
    stats = {"attempts": len(adds), "recovered": len(unsure & seen)}
    return judged(columns, found, stats, "")


def full_set(history: History | StoredHistory, question: Question) -> Verdict:
    """Every read counts: an element that was added, or once seen, is in every later read."""
    columns = columns_of(history)
    adds = {canonical(call.value): call for call in calls(columns, "add")}
    reads = [call for call in calls(columns, "read") if call.outcome == OK]
    reads = [call for call in reads if isinstance(call.value, list)]
    found: list[Found] = []
    contents = []
    for read in reads:
        counts = Counter(canonical(value) for value in read.value)
        contents.append((read, counts))
        for name, value in {canonical(value): value for value in read.value}.items():
            has, witness = f"a read has {shown(value)}", {"value": value}
            if counts[name] > 1:
                sentence = f"{has} {counts[name]} times"
                found.append(("duplicated", (read.row,), sentence, witness))
            if name not in adds:
                found.append(("unexpected", (read.row,), f"{has}, which no process added", witness))
            elif adds[name].outcome == FAIL:
                rows = (adds[name].row, read.row)
                found.append(("G1a", rows, f"{has}, whose add failed", witness))
    never, tested = 0, False
    for value, call in adds.items():
        later, fate = _fate(value, call, contents)
        tested |= later
        if fate is not None:
            found.append(fate)
        elif call.outcome == OK and not any(value in counts for _, counts in contents):
            never += 1
    stats = {"attempts": len(adds), "reads": len(reads), "never-read": never}
    nothing = "" if tested else "no read began after an element was known to be in the set"
    strict = any(model in _STRICT for model in question.consistency_models)
    return judged(columns, found, stats, nothing, {} if strict else {"stale": _LATE})


def _fate(
    value: Any, call: Call, contents: list[tuple[Call, Counter[Any]]]
) -> tuple[bool, Found | None]:
    """Whether a read began after it was known; and what became of it: lost if such a read lacks it,
    and so do all that began later; stale if it came back."""
    known = call.row if call.outcome == OK else None
    witness = call.row
    for read, counts in contents:
        if value in counts and (known is None or read.row < known):
            known, witness = read.row, read.row
    if known is None:
        return False, None
    later = [(read, counts) for read, counts in contents if read.call > known]
    last_seen = max((read.call for read, counts in contents if value in counts), default=-1)
    missing = [read for read, counts in later if value not in counts and read.call > last_seen]
    if missing:
        sentence = f"{shown(call.value)} was in the set, and no later read has it"
        return True, ("lost", (witness, missing[0].row), sentence, {"value": call.value})
    stale = [read for read, counts in later if value not in counts]
    if stale:
        sentence = f"{shown(call.value)} was in the set, and a read that began after that lacks it"
        return True, ("stale", (witness, stale[0].row), sentence, {"value": call.value})
    return bool(later), None
