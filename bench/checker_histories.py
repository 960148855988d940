"""Large histories to time checkers with, made as columns: honest ones, and with faults planted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from bench.planted import with_planted
from harness.history import kinds, schema
from harness.history.op import Op
from harness.history.parquet import write_parquet
from harness.history.tables import Tables

Ints = npt.NDArray[np.int64]

PARTITIONS = 64
PRODUCERS = 26
CONSUMERS = 24
SENDS = 8
POLLED = 64


class Rows:
    """Operations, each with its interval and its elements, before they are put in order."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []

    def add(self, **columns: Any) -> None:
        """time, process, type, f; count of elements; and for those kind, key, offset, value."""
        self.parts.append(columns)

    def tables(self, names: Sequence[str], keys: Sequence[str]) -> Tables:
        time = np.concatenate([part["time"] for part in self.parts])
        order = np.argsort(time, kind="stable")
        count = np.concatenate([part["count"] for part in self.parts])[order]
        start = np.concatenate([[0], np.cumsum(count)])

        def of_ops(name: str, kind: Any) -> Any:
            return np.concatenate([part[name] for part in self.parts]).astype(kind)[order]

        ops = pa.table(
            [
                pa.array(np.arange(order.size)),
                pa.array(np.arange(order.size, dtype=np.int64) * 1000),
                pa.array(of_ops("process", np.int32)),
                pa.DictionaryArray.from_arrays(of_ops("type", np.int8), schema.TYPE_NAMES),
                pa.DictionaryArray.from_arrays(of_ops("f", np.int32), pa.array(names)),
                pa.nulls(order.size, pa.string()),
                pa.nulls(order.size, schema.WORD),
            ],
            schema=schema.OPS,
        )
        elements = self._elements(order, count, start)
        ids = pa.table(
            [pa.array(range(len(keys)), pa.int32()), pa.array([f'"{key}"' for key in keys])],
            schema=schema.KEYS,
        )
        values = pa.table(
            [pa.array([], pa.int64()), pa.array([], pa.string())], schema=schema.VALUES
        )
        return Tables(ops, elements, ids, values)

    def _elements(self, order: Ints, count: Ints, start: Ints) -> pa.Table:
        place = np.empty(order.size, np.int64)
        place[order] = start[:-1]
        total = int(start[-1])
        columns: dict[str, Any] = {
            "position": np.zeros(total, np.int32),
            "kind": np.empty(total, np.int8),
            "key": np.empty(total, np.int32),
            "offset": np.empty(total, np.int64),
            "value": np.empty(total, np.int64),
        }
        done = 0
        for part in self.parts:
            mine = part["count"]
            first = np.repeat(place[done : done + mine.size], mine)
            within = np.arange(first.size) - np.repeat(np.cumsum(mine) - mine, mine)
            first += within
            columns["position"][first] = part.get("position", within if part["apart"] else 0)
            for name in ("kind", "key", "offset", "value"):
                columns[name][first] = part[name]
            done += mine.size
            part.clear()
        op = np.repeat(np.arange(order.size, dtype=np.int32), count)
        return pa.table(
            [
                pa.array(op),
                pa.array(columns["position"]),
                pa.array(columns["kind"]),
                *(
                    pa.array(columns[name], mask=columns[name] < 0)
                    for name in ("key", "offset", "value")
                ),
                pa.array(np.zeros(total, np.bool_)),
            ],
            schema=schema.ELEMENTS,
        )


def log_history(records: int, seed: int = 1, *, planted: bool = False, hot: float = 0.0) -> Tables:
    """A history of `records`, of which a third is sent, and each is polled by two consumers.

    `hot` is the share of the operations that are moved to the first log.
    """
    dice = np.random.default_rng(seed)
    ops = max(PARTITIONS, records // 3 // SENDS)
    key = dice.integers(0, PARTITIONS, ops)
    if hot:
        key = np.where(dice.random(ops) < hot, 0, key)
    chance = dice.random(ops)
    kind = np.where(chance < 0.02, schema.INFO, np.where(chance < 0.03, schema.FAIL, schema.OK))
    applied = (kind == schema.OK) | ((kind == schema.INFO) & (dice.random(ops) < 0.5))
    producer = np.arange(ops) % PRODUCERS
    value = (producer.astype(np.int64) << 32)[:, None] + (np.arange(ops) // PRODUCERS * SENDS)[
        :, None
    ]
    value = value + np.arange(SENDS)
    first = np.zeros(ops, np.int64)
    for one in range(PARTITIONS):
        mine = np.flatnonzero((key == one) & applied)
        first[mine] = np.arange(mine.size) * SENDS
    rows = Rows()
    _assign(rows)
    _send(rows, dice, key, kind, applied, producer, value, first)
    failed = np.flatnonzero((kind == schema.FAIL) & (key == PARTITIONS - 1))
    bad = int(value[failed[-1], 0]) if planted and failed.size else -1
    for group in range(2):
        _poll(rows, dice, group, key, applied, value, bad)
    names = ("send", "poll", "assign")
    tables = rows.tables(names, [f"t-{number}" for number in range(PARTITIONS)])
    return with_planted(tables, PRODUCERS) if planted else tables


def _retired(process: Ints, kind: Ints, lanes: int) -> Ints:
    """A process that had an unknown outcome is followed by the next one of its client."""
    number = process.astype(np.int64)
    for lane in range(lanes):
        mine = np.flatnonzero(process == lane)
        before = np.cumsum(kind[mine] == schema.INFO) - (kind[mine] == schema.INFO)
        number[mine] += before * (PRODUCERS + CONSUMERS)
    return number


def _assign(rows: Rows) -> None:
    consumers = np.arange(CONSUMERS)
    for type_, time in ((schema.INVOKE, -2.0), (schema.OK, -1.0)):
        each = [[key for key in range(PARTITIONS) if key % 12 == one % 12] for one in consumers]
        count = np.array([len(keys) for keys in each])
        flat = np.concatenate(each)
        none = np.full(flat.size, -1)
        rows.add(
            time=np.full(CONSUMERS, time),
            process=PRODUCERS + consumers,
            type=np.full(CONSUMERS, type_),
            f=np.full(CONSUMERS, 2),
            count=count,
            apart=True,
            kind=np.full(flat.size, kinds.ASSIGN),
            key=flat,
            offset=none,
            value=none,
        )


def _send(
    rows: Rows,
    dice: np.random.Generator,
    key: Ints,
    kind: Ints,
    applied: Any,
    producer: Ints,
    value: Ints,
    first: Ints,
) -> None:
    moment = np.arange(key.size, dtype=np.float64)
    process = _retired(producer, kind, PRODUCERS)
    offset = np.where((kind == schema.OK)[:, None], first[:, None] + np.arange(SENDS), -1)
    for invoked in (True, False):
        jitter = dice.random(key.size) * (PRODUCERS / 2 - 1)
        rows.add(
            time=moment - jitter if invoked else moment + jitter,
            process=process,
            type=np.full(key.size, schema.INVOKE) if invoked else kind,
            f=np.zeros(key.size, np.int32),
            count=np.full(key.size, SENDS),
            apart=True,
            kind=kinds.SEND if invoked else kinds.SENT,
            key=np.repeat(key, SENDS),
            offset=-1 if invoked else offset.ravel(),
            value=value.ravel(),
        )


def _poll(
    rows: Rows,
    dice: np.random.Generator,
    group: int,
    key: Ints,
    applied: Any,
    value: Ints,
    bad: int,
) -> None:
    for one in range(PARTITIONS):
        mine = np.flatnonzero((key == one) & applied)
        log = value[mine].ravel()
        ends = np.minimum(np.arange(POLLED, log.size + POLLED, POLLED), log.size)
        begins = np.concatenate([[0], ends[:-1]])
        ready = mine[np.maximum(ends - 1, 0) // SENDS] + PRODUCERS
        if bad >= 0 and one == PARTITIONS - 1:
            log = _spoilt(log, bad, group)
        consumer = group * 12 + one % 12
        turn = np.arange(ends.size)
        # In turn, and each in a lane of its own within the consumer's time.
        moment = turn * 1.0 + np.maximum.accumulate(ready - turn * 1.0) + (one // 12) / 8
        for invoked in (True, False):
            count = np.ones(ends.size, np.int64) if invoked else ends - begins
            size = int(count.sum())
            rows.add(
                time=moment if invoked else moment + 0.05 + dice.random(ends.size) / 20,
                process=np.full(ends.size, PRODUCERS + consumer),
                type=np.full(ends.size, schema.INVOKE if invoked else schema.OK),
                f=np.ones(ends.size, np.int32),
                count=count,
                apart=False,
                kind=kinds.POLL if invoked else kinds.RECORD,
                key=-1 if invoked else np.full(size, one),
                offset=-1 if invoked else np.arange(size),
                value=-1 if invoked else log,
            )


def _spoilt(log: Ints, bad: int, group: int) -> Ints:
    """In the last percent: one record is lost to both consumers; and to the first of them two
    change places, one is of a send that failed, one of nobody."""
    log = log.copy()
    end = log.size - POLLED
    log[end + 20] = log[end + 19]
    if group == 0:
        log[[end, end + 1]] = log[[end + 1, end]]
        log[end + 5] = bad
        log[end + 9] = (1 << 40) + 7
    return log


def list_history(transactions: int, seed: int = 1) -> Tables:
    """Each transaction appends to one list and reads another whole; 32 appends to each list."""
    dice = np.random.default_rng(seed)
    writes, lists = 32, 128
    block = writes * lists
    transactions = -(-transactions // block) * block
    at = np.arange(transactions)
    deck = np.tile(np.repeat(np.arange(lists), writes), (transactions // block, 1))
    key = (dice.permuted(deck, axis=1) + (at // block * lists).reshape(deck.shape)).ravel()
    read = dice.integers(0, lists, transactions) + at // block * lists
    read = np.where(read == key, key ^ 1, read)
    by_key = np.argsort(key, kind="stable")
    composite = key[by_key] * (transactions + 1) + by_key
    size = np.searchsorted(composite, read * (transactions + 1) + at) - read * writes
    first = np.repeat(read * writes - np.cumsum(size) + size, size)
    shown = by_key[first + np.arange(first.size)]
    rows = Rows()
    process = at % 50
    for invoked in (True, False):
        jitter = dice.random(transactions) * 24
        many = np.ones(transactions, np.int64) if invoked else np.maximum(size, 1)
        count = 1 + many
        total = int(count.sum())
        start = np.cumsum(count) - count
        is_append = np.zeros(total, np.bool_)
        is_append[start] = True
        kind = np.full(total, kinds.READ if invoked else kinds.READ_ELEMENT)
        kind[start] = kinds.APPEND
        value = np.full(total, -1, np.int64)
        value[start] = at
        if not invoked:
            value[np.flatnonzero(~is_append)[np.repeat(size > 0, many)]] = shown
            kind[start[size == 0] + 1] = kinds.READ_EMPTY
        keys = np.repeat(read, count)
        keys[start] = key
        rows.add(
            time=at - jitter if invoked else at + jitter,
            process=process,
            type=np.full(transactions, schema.INVOKE if invoked else schema.OK),
            f=np.zeros(transactions, np.int32),
            count=count,
            apart=False,
            position=(~is_append).astype(np.int32),
            kind=kind,
            key=keys,
            offset=-1,
            value=value,
        )
    return rows.tables(("txn",), [str(number) for number in range(transactions // writes)])


def register_history(ops: int, processes: int, seed: int = 7) -> list[Op]:
    """A compare-and-set register that is what it says, five values in use."""
    dice = Random(seed)
    rows: list[Op] = []
    state: Any = None
    begun: dict[int, list[Any]] = {}
    started = 0
    while started < ops or begun:
        process = dice.randrange(processes) if started < ops else dice.choice(sorted(begun))
        if process not in begun:
            if started < ops:
                started += 1
                f = dice.choices(("read", "write", "cas"), (5, 3, 2))[0]
                pair = [dice.randrange(5), dice.randrange(5)]
                asked = {"read": None, "write": pair[0], "cas": pair}[f]
                begun[process] = [f, asked, None]
                rows.append(Op(len(rows), len(rows), process, "invoke", f, asked))
        elif begun[process][2] is None:
            f, asked, _ = begun[process]
            legal = f != "cas" or state == asked[0]
            begun[process][2] = ("ok" if legal else "fail", state if f == "read" else asked)
            state = state if f == "read" or not legal else asked if f == "write" else asked[1]
        else:
            f, _, (type_, value) = begun.pop(process)
            rows.append(Op(len(rows), len(rows), process, type_, f, value))
    return rows


def kept(directory: Path, name: str, tables: Any) -> Path:
    """On disk, made once: `tables` makes them."""
    path = directory / name
    if not (path / "ops.parquet").is_file():
        write_parquet(tables(), path)
    return path
