"""Whether a history is one that can be judged at all; if not, a sentence says why.

Checkers trust their columns: a number that points nowhere would be read from beyond an array. What
this program wrote is sound; what was damaged, or made by others, is looked at first. An operation
whose value has not the shape of its model would be passed over, and a verdict that passed over
half of a history is worth nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from checkers.columns import OK, Columns
from checkers.shapes import SHAPES, Shape, misfit
from checkers.stored import StoredHistory, columns_of
from harness.history import kinds
from harness.history.element import INT64_MAX, are_keys
from harness.history.errors import HistoryError
from harness.history.history import History
from harness.history.json_text import shown
from harness.history.op import NEMESIS
from harness.history.operations import NOTICES
from harness.history.parquet import is_ours, read_part, refuse_dictionaries
from harness.history.trusted import refuse_indices, refuse_pointers

_TXN = '[["append", k, v], ["r", k, [v, ...]], ["w", k, v], ...]'
_LOG = '[["send", k, [offset, v]], ["poll", {k: [[offset, v], ...]}], ...]'
_GROUP = '{"group": g, "generation": n, "member": m, "offsets": {k: offset}}'
_OWNED = '{"group": g, "generation": n, "keys": [k, ...]}'
_SHAPES: dict[str, dict[str, str]] = {
    "list-append": {"txn": _TXN},
    "rw-register": {"txn": _TXN},
    "kafka": {
        **dict.fromkeys(("send", "poll", "txn"), _LOG),
        **dict.fromkeys(("commit", "committed"), _GROUP),
        **dict.fromkeys(("assigned", "revoked", "lost"), _OWNED),
        **dict.fromkeys(("assign", "subscribe"), "[k, ...] or {k: offset, ...}"),
        "end-offsets": '{"low": {k: offset}, "high": {k: offset}, "stable": {k: offset}}',
        "transform": '{"in": [[k, offset], ...], "out": [[k, [offset, v]], ...]}',
    },
}
_MICRO_OPS: dict[str, tuple[str, tuple[int, ...]]] = {
    "list-append": ('["append", k, v] and ["r", k, [v, ...]]', (kinds.WRITE, kinds.READ)),
    "rw-register": (
        '["w", k, v] and ["r", k, v]',
        (kinds.APPEND, kinds.READ_ELEMENT, kinds.READ_EMPTY),
    ),
}
"""By model: the micro-operations it knows, and the kinds of the other's, which it would not see."""
_KEYED = np.array(
    [
        *(kinds.SEND, kinds.SENT, kinds.POLLED_EMPTY, kinds.RECORD, kinds.APPEND, kinds.READ),
        *(kinds.READ_EMPTY, kinds.READ_ELEMENT, kinds.WRITE, kinds.PUT, kinds.PUT_AT, kinds.GET),
        *(kinds.ASSIGN, kinds.ASSIGN_AT, kinds.COMMIT, kinds.OWNED, kinds.IN, kinds.OUT),
        *(kinds.LOW, kinds.HIGH, kinds.STABLE, kinds.GET_AT),
    ],
    np.int8,
)
"""Kinds that are nothing without a key."""
_PAIRED = np.array((kinds.SEND, kinds.PUT, kinds.GET), np.int8)
"""Kinds whose value is no pair, unless the offset in it is none."""
_VALUED = np.array((kinds.APPEND, kinds.READ_ELEMENT, kinds.WRITE), np.int8)
_NEWS = NOTICES
"""What a process is told at any time, also while it does something."""
_ASKED_BY_KEYS = "end-offsets"
"""Its invocation may name the keys that are asked about; one that fails repeats them."""
_UNTOLD = -1
"""The offset of a record whose offset nobody was told."""
_UNREADABLE = (
    pa.ArrowException,
    OSError,
    LookupError,
    ValueError,
    TypeError,
    AssertionError,
)


def sound_history(file: Path, model: str, *, lean: bool) -> History | StoredHistory:
    """Loaded; or HistoryError. `lean`: read of Parquet what is judged, and no more."""
    history = (_stored(file) if lean else None) or History.load(file)
    columns = _loaded(history, file)
    if file.is_dir():
        _refuse_processes(history, file)
        _refuse_pointers(columns, file)
    if isinstance(history, StoredHistory):
        refuse_indices(columns.ops.index, history.path / "ops.parquet")
        refuse_dictionaries(history.path)
    _refuse_overlaps(columns, file, is_apart=model in _MICRO_OPS)
    if model in _SHAPES:
        _refuse_shapes(columns, file, _SHAPES[model])
    if model in _MICRO_OPS:
        _refuse_micro_ops(columns, file, model)
    if model in SHAPES:
        _refuse_values(columns, file, SHAPES[model])
    if model == "kafka":
        _refuse_offsets(columns, file)
    _refuse_extras(columns, file, logs=model == "kafka")
    return history


def _stored(file: Path) -> StoredHistory | None:
    """None: read as a whole, it says what is wrong with it in its own words."""
    try:
        stored = StoredHistory.at(file)
        return stored if stored is not None and is_ours(stored.path) else None
    except (pa.ArrowException, OSError):
        return None


def _loaded(history: History | StoredHistory, file: Path) -> Columns:
    try:
        return columns_of(history)
    except _UNREADABLE as error:
        History.load(file)
        raise HistoryError(f"it cannot be read as a history ({error})", str(file)) from error


def _refuse_processes(history: History | StoredHistory, file: Path) -> None:
    if isinstance(history, StoredHistory):
        table = read_part(history.path / "ops.parquet", columns=["process"])
    else:
        table = history.ops
    least = pc.min(table["process"]).as_py()
    if least is not None and least < NEMESIS:
        raise HistoryError(
            f"expected every process to be at least {NEMESIS}, the nemesis, found {least}",
            str(file),
        )


def _refuse_pointers(columns: Columns, file: Path) -> None:
    elements = columns.elements
    limits = (
        ("op", elements.op, 0, columns.ops.index.size),
        ("kind", elements.kind, 0, len(kinds.NAMES)),
        ("key", elements.key, -1, len(columns.history.keys)),
        ("boxed value", elements.value[elements.boxed], 0, len(columns.history.values)),
    )
    for name, column, least, end in limits:
        refuse_pointers(name, column, least, end, str(file))
    if bool((elements.op[1:] < elements.op[:-1]).any()):
        raise HistoryError("expected elements in the order of their ops", str(file))
    keyless = np.flatnonzero(elements.key < 0)
    keyless = keyless[np.isin(elements.kind[keyless], _KEYED)]
    if keyless.size:
        row, kind = int(elements.op[keyless[0]]), int(elements.kind[keyless[0]])
        raise HistoryError(
            f"expected a key for each {kinds.NAMES[kind]} in elements, found none",
            _where(file, row, columns.index_of(row)),
        )


def _refuse_overlaps(columns: Columns, file: Path, *, is_apart: bool) -> None:
    """A process does one thing at a time. One that invokes while it has an operation under way
    leaves nobody to say which of the two its completion is of.

    `is_apart`: transactions tell by themselves what they did, so those of a process that completes
    as many as it invoked can be judged, as a published history of Elle's expects.
    """
    ops, partner = columns.ops, columns.partner
    alone = columns.has_f(*_NEWS)
    single = np.flatnonzero((partner < 0) & (ops.process >= 0) & ~alone)
    begun = single[ops.type[single] == 0]
    if not begun.size:
        return
    acting = np.flatnonzero((ops.process >= 0) & ~alone)
    last = np.zeros(ops.numbers.size, np.int64)
    last[ops.process[acting]] = acting
    strange = begun[last[ops.process[begun]] > begun]
    if is_apart:
        most = ops.numbers.size
        left = np.bincount(ops.process[strange], minlength=most)
        ended = np.bincount(ops.process[single[ops.type[single] != 0]], minlength=most)
        strange = strange[(left > ended)[ops.process[strange]]]
    if strange.size:
        row = int(strange[0])
        later = acting[(acting > row) & (ops.process[acting] == ops.process[row])]
        index = columns.index_of(int(later[0]))
        raise HistoryError(
            f"expected process {columns.process_of(row)} to complete operation "
            f"{columns.index_of(row)} before it invokes another, found operation {index}",
            _where(file, int(later[0]), index),
        )


def _refuse_shapes(columns: Columns, file: Path, shapes: dict[str, str]) -> None:
    elements = columns.elements
    whole = np.flatnonzero(elements.kind == kinds.VALUE)
    clients = columns.ops.process[elements.op[whole]] >= 0
    for element in whole[clients & columns.has_f(*shapes)[elements.op[whole]]].tolist():
        value: Any = columns.value_of(element)
        if value in ([], {}):
            continue
        row = int(elements.op[element])
        f = columns.ops.names[int(columns.ops.f[row])]
        if f == _ASKED_BY_KEYS and columns.ops.type[row] != OK and _are_keys(value):
            continue
        raise HistoryError(
            f"expected {shapes[f]} as value of {f}, found {shown(value)}",
            _where(file, row, columns.index_of(row)),
        )


def _are_keys(value: Any) -> bool:
    return isinstance(value, list) and are_keys(value)


def _refuse_micro_ops(columns: Columns, file: Path, model: str) -> None:
    """A read of null is either's: it says nothing. Of an append or a write, null is no value."""
    elements = columns.elements
    known, strange = _MICRO_OPS[model]
    found = np.isin(elements.kind, np.array(strange, np.int8))
    found &= elements.told | (elements.kind != kinds.READ)
    untold = np.flatnonzero(~elements.told)
    nulls = untold[np.isin(elements.kind[untold], _VALUED)]
    for expected, which in ((known, np.flatnonzero(found)), ("values that are not null", nulls)):
        rows = elements.op[which]
        rows = rows[columns.ops.process[rows] >= 0]
        if rows.size:
            row = int(rows[0])
            index = columns.index_of(row)
            value = columns.history.op(index).value
            raise HistoryError(
                f"expected {expected} in a history of {model}, found {shown(value)}",
                _where(file, row, index),
            )


def _refuse_values(columns: Columns, file: Path, shapes: Mapping[str, Shape]) -> None:
    found = misfit(columns, shapes)
    if found is not None:
        row, value = found
        f = columns.ops.names[int(columns.ops.f[row])]
        raise HistoryError(
            f"expected {shapes[f].told} as value of {f}, found {shown(value)}",
            _where(file, row, columns.index_of(row)),
        )


def _refuse_offsets(columns: Columns, file: Path) -> None:
    """Checkers count to the end of a log, which is one more than its last offset; and what is below
    zero is to them an offset that nobody was told."""
    elements = columns.elements
    strange = np.flatnonzero((elements.offset < _UNTOLD) | (elements.offset == INT64_MAX))
    strange = strange[columns.ops.process[elements.op[strange]] >= 0]
    found = [
        (int(elements.op[one]), int(elements.kind[one]), int(elements.offset[one]))
        for one in strange[:1]
    ]
    for row, kind, offset in found or _offsets_beyond(columns):
        what = "generations" if kind == kinds.GROUP else "offsets"
        raise HistoryError(
            f"expected {what} from 0 to {INT64_MAX - 1}, found {shown(offset)}",
            _where(file, row, columns.index_of(row)),
        )


def _offsets_beyond(columns: Columns) -> Iterator[tuple[int, int, float]]:
    """Such an offset has no column, so the pair that it is of was taken for a value."""
    elements, ops = columns.elements, columns.ops
    pairs = np.flatnonzero(elements.boxed)
    pairs = pairs[np.isin(elements.kind[pairs], _PAIRED)]
    rows = elements.op[pairs]
    for element in pairs[(ops.type[rows] == OK) & (ops.process[rows] >= 0)].tolist():
        value = columns.value_of(element)
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], int | float):
            yield int(elements.op[element]), int(elements.kind[element]), value[0]


def _refuse_extras(columns: Columns, file: Path, *, logs: bool) -> None:
    """Equal ones have one box: each is looked at once."""
    elements = columns.elements
    further = np.flatnonzero(elements.kind == kinds.EXTRA)
    _, first = np.unique(elements.value[further], return_index=True)
    for element in further[first].tolist():
        extra = columns.value_of(element)
        row = int(elements.op[element])
        where = partial(_where, file, row, columns.index_of(row))
        if not isinstance(extra, dict):
            raise HistoryError(f"expected an object of fields, found {shown(extra)}", where())
        log = extra.get("rebalance-log") if logs else None
        if log is not None and not (isinstance(log, list) and all(map(_is_change, log))):
            raise HistoryError(
                f'expected [{{"keys": [k, ...]}}, ...] as rebalance-log, found {shown(log)}',
                where(),
            )


def _is_change(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("keys"), list | None)


def _where(file: Path, row: int, index: int) -> str:
    """With the line, where an operation is one."""
    if not file.is_file():
        return f"{file}, operation {index}"
    mark = ":type" if file.suffix == ".edn" else "{"
    seen = -1
    with file.open(errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            seen += mark in line
            if seen == row:
                return f"{file}, line {number}"
    return f"{file}, operation {index}"
