"""Operations and logs that are kept whole, because parts cannot judge them.

An operation that both sends and polls is kept with all records that it mentions. So is one with
elements of kinds that parts do not judge, together with all records of the logs that these are
about. Cycles, groups and transforms are then judged as they are in the whole history. A history
that consists mostly of such operations does not become smaller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.arrays import Bools, Ints64
from checkers.cuts.mentions import POLL, SEND, Mentions
from harness.history import kinds

_KINDS_OF_PARTS: Final = np.array(
    [
        *(kinds.SEND, kinds.SENT, kinds.RECORD, kinds.VALUE, kinds.LOW, kinds.HIGH, kinds.STABLE),
        *(kinds.ASSIGN, kinds.ASSIGN_AT, kinds.POLL, kinds.POLLED_NOTHING, kinds.POLLED_EMPTY),
        *(kinds.PAUSE, kinds.ABORT),
    ],
    np.int8,
)
_OTHER_KIND: Final = 4
"""A bit beside SEND and POLL in the mask of an operation."""


@dataclass(frozen=True, slots=True)
class KeptWhole:
    """What one part says of operations and logs that are kept whole."""

    values: Ints64
    """Values of the operations that are kept whole and do not continue in another part."""
    keys: Ints64
    """Keys of logs whose records are all kept."""
    border: dict[int, int]
    """By row, the mask of the first and the last operation, which may continue in other parts."""


def summarise(mentions: Mentions) -> KeptWhole:
    speaks = mentions.outcome > 0
    is_other_kind = speaks & ~np.isin(mentions.kind, _KINDS_OF_PARTS)
    keys = np.unique(mentions.key[is_other_kind & (mentions.key >= 0)]).astype(np.int64)
    some = np.flatnonzero(speaks)
    if not some.size:
        return KeptWhole(mentions.value[:0], keys, {})
    mask = np.where(is_other_kind, _OTHER_KIND, mentions.role)[some]
    rows, at = np.unique(mentions.row[some], return_inverse=True)
    masks = np.zeros(rows.size, np.int64)
    np.bitwise_or.at(masks, at, mask)
    chosen = is_kept_whole(masks)
    chosen[[0, -1]] = False
    values = mentions.value[_has_value(mentions) & np.isin(mentions.row, rows[chosen])]
    border = {int(rows[one]): int(masks[one]) for one in (0, -1)}
    return KeptWhole(np.unique(values), keys, border)


def merge(parts: Iterable[KeptWhole]) -> tuple[Ints64, Ints64, Ints64]:
    """Values to keep, keys whose records are all kept, and rows whose values are all kept."""
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
    """Which operations are kept with all records that they mention, by their masks."""
    whole: Bools = (masks & _OTHER_KIND > 0) | (masks & (SEND | POLL) == SEND | POLL)
    return whole


def of_keyed_records(names: dict[int, str]) -> Ints64:
    """Keys of records with a record key, as in `orders/name`, and of the logs that have them.

    Such a key names no partition, so the record may be in any log of the topic.
    """
    topics = {name.partition("/")[0] for name in names.values() if "/" in name}
    chosen = [
        key
        for key, name in names.items()
        if "/" in name or name in topics or name.rpartition("-")[0] in topics
    ]
    return np.array(sorted(chosen), np.int64)


def values_about(mentions: Mentions, keys: Ints64, rows: Ints64) -> Ints64:
    """Values of all records of these keys, and of all that these rows mention."""
    chosen = np.isin(mentions.key, keys) | np.isin(mentions.row, rows)
    return np.unique(mentions.value[_has_value(mentions) & chosen])


def _has_value(mentions: Mentions) -> Bools:
    has: Bools = (mentions.outcome > 0) & mentions.is_int & (mentions.key >= 0)
    return has
