"""long-fork: two reads see two writes in opposite orders.

Each key is written once. Reads of the same keys must be comparable: one of any two saw all that the
other did.
"""

from __future__ import annotations

from typing import Any

from checkers.columns import OK, Columns
from checkers.counts.told import Found, judged
from checkers.linear.calls import calls, canonical
from checkers.models import Question
from checkers.results import Result
from harness.history.history import History


def long_fork(history: History, question: Question) -> Result:
    columns = Columns(history)
    groups: dict[frozenset[Any], dict[frozenset[Any], int]] = {}
    reads = 0
    for call in calls(columns, "read", "txn", "r"):
        if call.outcome != OK or not isinstance(call.value, list):
            continue
        parts = [part for part in call.value if isinstance(part, list) and part[0] in ("r", "read")]
        if len(parts) < 2:
            continue
        reads += 1
        keys = frozenset(canonical(part[1]) for part in parts)
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
    return judged(columns, question, found, {"reads": reads}, nothing)


def _fork(one: Any, other: Any, views: dict[Any, int], keys: frozenset[Any]) -> Found:
    left, right = (sorted(map(str, view)) for view in (one - other, other - one))
    sentence = (
        f"one read saw {', '.join(left)} without {', '.join(right)}, and another saw "
        f"{', '.join(right)} without {', '.join(left)}"
    )
    witness = {"keys": sorted(map(str, keys)), "saw": [left, right]}
    return "long-fork", (views[one], views[other]), sentence, witness
