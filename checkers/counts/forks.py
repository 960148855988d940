"""long-fork: two reads see two writes in opposite orders.

Each key is written once. Reads of the same keys must be comparable: one of any two saw all that the
other did.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from checkers.columns import FAIL, OK
from checkers.counts.told import Found, judged
from checkers.linear.calls import calls, canonical
from checkers.models import Question
from checkers.stored import StoredHistory, columns_of
from checkers.verdict import Verdict
from harness.history.history import History
from harness.history.json_text import decode


def long_fork(history: History | StoredHistory, question: Question) -> Verdict:
    columns = columns_of(history)
    groups: dict[frozenset[Any], dict[frozenset[Any], int]] = {}
    reads = 0
    writes: Counter[Any] = Counter()
    for call in calls(columns, "read", "write", "txn", "r", "w"):
        if call.outcome != FAIL and isinstance(call.value, list):
            writes.update(canonical(part[1]) for part in call.value if _is(part, "w", "write"))
        if call.outcome != OK or not isinstance(call.value, list):
            continue
        parts = [part for part in call.value if _is(part, "r", "read")]
        keys = frozenset(canonical(part[1]) for part in parts)
        if len(keys) < 2:
            continue
        reads += 1
        seen = frozenset(canonical(part[1]) for part in parts if part[2] is not None)
        groups.setdefault(keys, {}).setdefault(seen, call.row)
    found: list[Found] = []
    for keys, views in groups.items():
        ordered = sorted(views, key=lambda view: (len(view), views[view]))
        for at, one in enumerate(ordered):
            for other in ordered[at + 1 :]:
                if not one <= other:
                    found.append(_fork(one, other, views, keys))
    nothing = "" if reads else "no read had several keys"
    twice = sorted(_name(key) for key, times in writes.items() if times > 1)
    if twice:
        # A key written twice gives no order.
        found, nothing = (
            [],
            f"keys must be written once, and these were written again: {', '.join(twice)}",
        )
    return judged(columns, found, {"reads": reads}, nothing)


def _name(key: Any) -> str:
    return str(decode(key) if isinstance(key, str) else key)


def _is(part: Any, *names: str) -> bool:
    return isinstance(part, list) and len(part) == 3 and part[0] in names


def _fork(one: Any, other: Any, views: dict[Any, int], keys: frozenset[Any]) -> Found:
    left, right = (sorted(map(_name, view)) for view in (one - other, other - one))
    sentence = (
        f"one read saw {', '.join(left)} without {', '.join(right)}, and another saw "
        f"{', '.join(right)} without {', '.join(left)}"
    )
    witness = {"keys": sorted(map(_name, keys)), "saw": [left, right]}
    return "long-fork", (views[one], views[other]), sentence, witness
