"""Rows of the lake find their objects, and tasks see the operations of the whole history."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import reduce
from random import Random
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.linear.by_object import Summary, conclude, merge, summarise
from checkers.linear.keyed import KEYED
from checkers.models import Question, judge
from harness.history.history import History
from harness.history.op import Op
from pipeline.check.by_key import objects
from pipeline.check.by_key.job import columns_of
from pipeline.check.by_key.objects import BEGUN, BLOCK, OBJECT, PART, SCHEMA, objects_of_block
from pipeline.reading.history_rows import whole_elements, whole_operations
from tests.property.keyed_histories import keyed_history

_DAY = date(2026, 11, 18)


def told(history: History) -> pa.Table:
    """What `rows_by_object` groups by blocks."""
    operations = pa.Table.from_batches(whole_operations("r", _DAY, history.tables)).to_pylist()
    batches = [*whole_elements("r", _DAY, history.tables)]
    elements = pa.Table.from_batches(batches).to_pylist() if batches else []
    rows: list[dict[str, Any]] = []
    for row in operations:
        ends = row["type"] != "invoke" and row["partner"] is not None
        begun = row["partner"] if ends else row["row"]
        if row["process"] >= 0:
            rows.append({**row, PART: objects.OPERATIONS, BEGUN: begun})
    for row in elements:
        begun = row["call"] if row["call"] >= 0 else row["row"]
        rows.append({**row, PART: objects.ELEMENTS, BEGUN: begun})
    fields = [field for field in SCHEMA if field.name != OBJECT]
    return pa.Table.from_pylist(rows, pa.schema([*fields, pa.field(BEGUN, pa.int32())]))


def by_object(history: History, model: str) -> list[pa.Table]:
    """The rows of each object."""
    group = told(history)
    found = objects_of_block(KEYED[model].names)((pa.scalar(0, pa.int64()),), group)
    names = found[OBJECT].to_pylist()
    return [found.filter(pa.array([each == name for each in names])) for name in sorted({*names})]


def with_few_processes(dice: Random, rows: list[Op]) -> list[Op]:
    """Processes invoke again before an operation has ended, so that some ends belong to others.
    Halves of different names are an operation with the name of its end."""
    given = {row.process: dice.randrange(4) for row in rows}
    return [
        replace(row, process=given[row.process], f="other" if dice.random() < 0.1 else row.f)
        for row in rows
    ]


@pytest.mark.parametrize("model", KEYED)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_an_object_at_a_time_has_the_verdict_of_the_whole(model: str, seed: int) -> None:
    dice = Random(seed)
    rows = keyed_history(dice, model, bad=dice.choice((0.0, 0.2, 0.7)))
    if dice.random() < 0.5:
        rows = with_few_processes(dice, rows)
    nemesis = Op(len(rows), 0, -1, "info", dice.choice(KEYED[model].names))
    history = History.of([*rows, nemesis])
    question = Question(budget=500)
    found = [summarise(columns_of(each), model, question) for each in by_object(history, model)]
    summary = reduce(merge, found, Summary())
    verdict = conclude(summary, model, question, ops=len(history))
    assert verdict == judge(history, model, question)


def test_a_block_knows_its_rows_by_the_first_one() -> None:
    rows = told(History.of(keyed_history(Random(4), "register")))
    far = rows
    for name in ("row", objects.PARTNER, BEGUN):
        moved = pa.compute.add(rows[name], pa.scalar(7 * BLOCK, pa.int32()))
        far = far.set_column(far.column_names.index(name), name, moved)
    of_block = objects_of_block(KEYED["register"].names)
    found = of_block((pa.scalar(0, pa.int64()),), rows)
    moved = of_block((pa.scalar(7 * BLOCK, pa.int64()),), far)
    assert len(found) == len(rows)
    assert moved[OBJECT] == found[OBJECT]
    assert columns_of(moved).partner.tolist() == columns_of(found).partner.tolist()


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ('{"key": {"a": 1, "b": 2}}', '{"key":{"b":2,"a":1}}', True),
        ('{"key": 1}', '{"key": "1"}', False),
        ('{"key": 1}', '{"key": 1.0}', False),
        ('{"key": null}', '{"note": 1}', False),
        ('{"key": ""}', '{"note": 1}', False),
        ('{"note": 2}', "no JSON", True),
        ('{"note": 2}', "5", True),
    ],
)
def test_keys_that_are_the_same_in_json_are_one_object(one: str, other: str, is_same: bool) -> None:
    rows = [Op(at, at, at, "ok", "write", 1, extra={"key": at}) for at in range(2)]
    group = told(History.of(rows))
    texts = iter((one, other))
    named = [next(texts) if text else None for text in group["text"].to_pylist()]
    place = group.column_names.index("text")
    group = group.set_column(place, "text", pa.array(named, pa.string()))
    found = objects_of_block(KEYED["register"].names)((pa.scalar(0, pa.int64()),), group)
    assert (len(found[OBJECT].unique()) == 1) == is_same
