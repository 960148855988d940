"""stale-read by its definition: for each poll and each key that its process reads, how long the
record after the last that it has read had been known."""

from __future__ import annotations

from collections import Counter
from random import Random

from harness.history.op import Op
from tests.property.group_oracle import Found
from tests.property.log_histories import KEYS, log_history
from tests.property.log_oracle import Oracle

_UNKNOWN = -1
"""Where a process is on a key that nobody assigned to it: its first record will tell."""


def history(dice: Random) -> tuple[list[Op], Found, int]:
    """Rows, the polls and keys that are too far behind, and the bound in nanoseconds."""
    rows = log_history(dice, bend=0.08, most=24)
    bound = dice.randint(2, 12)
    oracle = Oracle(rows, [f"v{number}" for number in range(200)])
    found: Found = Counter()
    next_: dict[tuple[int, str], int | None] = {}
    for one in oracle.done:
        if one.f == "assign":
            if one.type != "fail":
                for key in KEYS:
                    at = next_.get((one.process, key), _UNKNOWN)
                    start = 0 if at in (None, _UNKNOWN) else at
                    next_[one.process, key] = start if key in one.keys else None
            continue
        if one.type != "ok":
            continue
        for key, offset, _ in one.polls:
            at = next_.get((one.process, key), _UNKNOWN)
            if at is not None and offset is not None:
                next_[one.process, key] = max(at, offset + 1)
        call = oracle.calls.get(one.op.index, -1)
        if not one.op.value or not any(part[0] == "poll" for part in one.op.value) or call < 0:
            continue
        for key in KEYS:
            at = next_.get((one.process, key), _UNKNOWN)
            if at is not None and at != _UNKNOWN:
                known = _known(oracle, key, at)
                if known is not None and known < call and call - known > bound:
                    found[one.op.index, key] += 1
    return rows, found, bound


def _known(oracle: Oracle, key: str, offset: int) -> int | None:
    """The first row by which a record at this offset, or beyond, was told of."""
    return min(
        (
            one.op.index
            for one in oracle.done
            for whose, at, _ in one.polls + (one.sends if oracle.committed(one) else [])
            if whose == key and at is not None and at >= offset
        ),
        default=None,
    )
