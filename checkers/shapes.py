"""What the values of a model's operations look like.

What looks otherwise would be counted as something else, or as nothing: an addition of "x" as one, a
balance of "x" as none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from checkers.columns import OK, Columns
from harness.history import kinds

_INVOKED = 0
_READS_AND_WRITES = (kinds.READ, kinds.READ_EMPTY, kinds.READ_ELEMENT, kinds.WRITE)


class Shape(NamedTuple):
    told: str
    fits: Callable[[Any], bool]
    role: Literal["acts", "may act", "asks", "gets"]
    """Acts: has a value whoever invokes it, which counts whatever came of it; may act: the same,
    with null as a value. Asks: its value is the answer, and null tells nothing. Gets: null is no
    answer."""
    micro_ops: bool = False
    """Whether lists of reads and writes, which are stored apart, fit."""


def _is_int(value: Any) -> bool:
    return type(value) is int


def _is_text(value: Any) -> bool:
    return type(value) in (str, int)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def _are_balances(value: Any) -> bool:
    return isinstance(value, dict) and all(
        balance is None or type(balance) is int for balance in value.values()
    )


def _are_micro_ops(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_micro_op, value))


def _is_micro_op(part: Any) -> bool:
    return (
        isinstance(part, list)
        and len(part) == 3
        and part[0] in ("r", "w", "read", "write")
        and type(part[1]) in (str, int)
    )


_MICRO_OPS = Shape(
    '[["r", k, v], ["w", k, v], ...]', _are_micro_ops, role="may act", micro_ops=True
)
_ENQUEUED = Shape("a value that is not null", lambda _: True, role="acts")
"""A dequeue of null is one that found nothing."""
_LIST = Shape("[v, ...]", _is_list, role="asks")
_TEXT = Shape("a text", _is_text, role="may act")
_STEP = Shape("an integer", _is_int, role="may act")

SHAPES: dict[str, dict[str, Shape]] = {
    "cas-register": {"cas": Shape("[old, new]", _is_pair, role="acts")},
    "multi-register": dict.fromkeys(("txn", "read", "write"), _MICRO_OPS),
    "kv-append": {"put": _TEXT, "append": _TEXT, "get": Shape("a text", _is_text, role="asks")},
    "set": {"read": _LIST},
    "set-full": {"read": _LIST},
    "queue": {"enqueue": _ENQUEUED, "drain": _LIST},
    "total-queue": {"enqueue": _ENQUEUED, "drain": _LIST},
    "counter": {
        "add": Shape("an integer", _is_int, role="acts"),
        **dict.fromkeys(("inc", "increment", "dec", "decrement"), _STEP),
        "read": Shape("an integer", _is_int, role="asks"),
    },
    "unique-ids": {"generate": Shape("an id", lambda _: True, role="gets")},
    "bank": {"read": Shape("{account: balance, ...}", _are_balances, role="asks")},
    "long-fork": dict.fromkeys(("txn", "read", "write", "r", "w"), _MICRO_OPS),
}
"""By model and operation; what is not here may be anything."""


def misfit(columns: Columns, shapes: Mapping[str, Shape]) -> tuple[int, Any] | None:
    """The first row of a client whose value does not fit, and that value."""
    ops, elements = columns.ops, columns.elements
    rows = np.flatnonzero(columns.has_f(*shapes) & (ops.process >= 0))
    first = np.searchsorted(elements.op, rows).tolist()
    plain = np.isin(elements.kind, np.array((*_READS_AND_WRITES, kinds.VALUE, kinds.EXTRA)))
    mixed = set(elements.op[~plain].tolist())
    fitting: dict[tuple[str, int], bool] = {}
    for row, at in zip(rows.tolist(), first, strict=True):
        name = ops.names[int(ops.f[row])]
        shape, type_ = shapes[name], int(ops.type[row])
        if shape.role in ("asks", "gets") and type_ not in (_INVOKED, OK):
            continue
        kind = kinds.EXTRA
        if at < elements.op.size and elements.op[at] == row:
            kind = int(elements.kind[at])
        if kind == kinds.EXTRA:
            if _is_missing(columns, row, shape, type_):
                return row, None
        elif kind != kinds.VALUE:
            if shape.micro_ops and row not in mixed:
                continue
            value = columns.history.op(columns.index_of(row)).value
            if not shape.fits(value):
                return row, value
        else:
            # Equal values have one box: each is looked at once.
            box = name, int(elements.value[at]) if elements.boxed[at] else -1
            if box not in fitting:
                fitting[box] = shape.fits(columns.value_of(at))
            if not fitting[box]:
                return row, columns.value_of(at)
    return None


def _is_missing(columns: Columns, row: int, shape: Shape, type_: int) -> bool:
    """A completion need not repeat what its invocation said."""
    if shape.role == "gets":
        return type_ == OK
    return shape.role == "acts" and (type_ == _INVOKED or bool(columns.partner[row] < 0))
