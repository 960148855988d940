"""What parts do not understand: operations that both send and poll, and elements of other kinds.

Such operations are kept with all that they mention, and of a log that such an element is about, all
records: cycles, groups and transforms are then judged as they are in the whole history. A history
that is mostly of this sort does not become smaller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.cuts.mentions import POLL, SEND, Mentions
from harness.history import kinds

_UNDERSTOOD: Final = np.array(
    [
        *(kinds.SEND, kinds.SENT, kinds.RECORD, kinds.VALUE, kinds.LOW, kinds.HIGH, kinds.STABLE),
        *(kinds.ASSIGN, kinds.ASSIGN_AT, kinds.POLL, kinds.POLLED_NOTHING, kinds.POLLED_EMPTY),
        *(kinds.PAUSE, kinds.ABORT),
    ],
    np.int8,
)
_STRANGE: Final = 4
"""As a role in a mask beside SEND and POLL."""


@dataclass(frozen=True, slots=True)
class Strange:
    """Of a part."""

    values: Ints64
    """Of operations that are strange, and lie wholly in the part."""
    keys: Ints64
    """Of logs that strange elements are about."""
    border: dict[int, int]
    """What the rows do, as a mask, that may go on in another part."""


def summarise(mentions: Mentions) -> Strange:
    speaks = mentions.outcome > 0
    is_strange = speaks & ~np.isin(mentions.kind, _UNDERSTOOD)
    keys = np.unique(mentions.key[is_strange & (mentions.key >= 0)]).astype(np.int64)
    some = np.flatnonzero(speaks)
    if not some.size:
        return Strange(mentions.value[:0], keys, {})
    mask = np.where(is_strange, _STRANGE, mentions.role)[some]
    rows, at = np.unique(mentions.row[some], return_inverse=True)
    masks = np.zeros(rows.size, np.int64)
    np.bitwise_or.at(masks, at, mask)
    chosen = is_kept_whole(masks)
    chosen[[0, -1]] = False
    values = mentions.value[_has_value(mentions) & np.isin(mentions.row, rows[chosen])]
    border = {int(rows[one]): int(masks[one]) for one in (0, -1)}
    return Strange(np.unique(values), keys, border)


def merge(parts: Iterable[Strange]) -> tuple[Ints64, Ints64, Ints64]:
    """Values to keep, keys whose records are all kept, and rows that are kept with all values."""
    several = list(parts)
    empty = np.empty(0, np.int64)
    border: dict[int, int] = {}
    for each in several:
        for row, mask in each.border.items():
            border[row] = border.get(row, 0) | mask
    rows = np.array(list(border), np.int64)
    masks = np.array(list(border.values()), np.int64)
    return (
        np.unique(np.concatenate([empty, *(each.values for each in several)])),
        np.unique(np.concatenate([empty, *(each.keys for each in several)])),
        rows[is_kept_whole(masks)],
    )


def is_kept_whole(masks: Ints64) -> Bools:
    """Which operations are kept with all that they mention."""
    strange: Bools = (masks & _STRANGE > 0) | (masks & (SEND | POLL) == SEND | POLL)
    return strange


def of_keyed_records(names: dict[int, str]) -> Ints64:
    """Keys of records that have keys of their own, as `orders/name`, and of the logs they are in.

    A record that names no partition may be in any log of its topic.
    """
    topics = {name.partition("/")[0] for name in names.values() if "/" in name}
    chosen = [
        key
        for key, name in names.items()
        if "/" in name or name in topics or name.rpartition("-")[0] in topics
    ]
    return np.array(sorted(chosen), np.int64)


def values_about(mentions: Mentions, keys: Ints64, rows: Ints64) -> Ints64:
    """Values of records of these keys, or that these operations mention."""
    chosen = np.isin(mentions.key, keys) | np.isin(mentions.row, rows)
    return np.unique(mentions.value[_has_value(mentions) & chosen])


def _has_value(mentions: Mentions) -> Bools:
    has: Bools = (mentions.outcome > 0) & mentions.is_int & (mentions.key >= 0)
    return has
