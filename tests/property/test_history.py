"""Nothing that was recorded is lost or bent, whichever way it goes to disk and back."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.history.edn import write_edn
from harness.history.flatten import flatten
from harness.history.history import History, finish
from harness.history.jsonl import write_jsonl
from harness.history.nest import nest
from harness.history.op import Op
from harness.history.recorder import Recorder
from tests.property.history_values import KEYS, TEXT_KEYS, named_values, operations

FLUSHES = st.sets(st.integers(0, 12))


def in_order(ops: list[Op]) -> list[Op]:
    """As the rules say it, one row after the other: of those that may come next, the first."""
    waiting = sorted(ops, key=lambda op: op.time_ns)
    done: list[Op] = []
    while waiting:
        now = [op for op in waiting if op.time_ns == waiting[0].time_ns]
        turns: dict[int, tuple[bool, int]] = {}
        keyed = []
        for op in now:
            completed = op.type != "invoke"
            last, turn = turns.get(op.process, (completed, int(completed)))
            turns[op.process] = (completed, turn + (last != completed))
            keyed.append((turns[op.process][1], op))
        done += [op for _, op in sorted(keyed, key=lambda pair: pair[0])]
        waiting = waiting[len(now) :]
    return [replace(op, index=index) for index, op in enumerate(done)]


@settings(deadline=None, max_examples=60)
@given(named_values(KEYS))
def test_every_value_is_put_together_as_it_was(named: tuple[str, object]) -> None:
    f, value = named
    assert nest(flatten(f, value)) == (value, None)


@settings(deadline=None, max_examples=20)
@given(operations())
def test_a_history_in_memory(ops: list[Op]) -> None:
    history = History.of(ops)
    assert list(history) == ops
    for op in ops:
        assert history.op(op.index) == op


@settings(deadline=None, max_examples=20)
@given(operations(), FLUSHES)
def test_recorded_in_chunks_and_written_as_parquet(ops: list[Op], flushes: set[int]) -> None:
    with TemporaryDirectory() as scratch:
        directory = Path(scratch) / "history"
        with Recorder(directory) as recorder:
            for op in ops:
                if op.index in flushes:
                    recorder.flush()
                recorder.record(
                    *(op.time_ns, op.process, op.type, op.f, op.value),
                    *(op.error, op.node, op.extra, op.timestamps),
                )
        from_chunks = finish(directory)
        from_parquet = History.load(Path(scratch))
        assert list(from_chunks) == in_order(ops)
        assert list(from_parquet) == in_order(ops)
        for one, other in zip(from_chunks.tables, from_parquet.tables, strict=True):
            assert one.equals(other)
        # Another's order of ids and chunks is no difference.
        for one, other in zip(History.of(in_order(ops)).ops, from_chunks.ops, strict=True):
            assert one.to_pylist() == other.to_pylist()


@settings(deadline=None, max_examples=20)
@given(operations(TEXT_KEYS) | operations(st.integers(0, 5)))
def test_as_json_lines(ops: list[Op]) -> None:
    ops = in_order(ops)
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "history.jsonl"
        write_jsonl(History.of(ops), path)
        again = History.load(path)
        write_jsonl(again, path.with_name("again.jsonl"))
        assert path.read_text() == path.with_name("again.jsonl").read_text()
        assert len(again) == len(ops)


@settings(deadline=None, max_examples=20)
@given(operations(TEXT_KEYS))
def test_as_json_lines_with_our_keys(ops: list[Op]) -> None:
    ops = in_order(ops)
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "history.jsonl"
        write_jsonl(ops, path)
        assert list(History.load(path)) == ops


@settings(deadline=None, max_examples=20)
@given(operations())
def test_every_operation_has_a_form_in_edn(ops: list[Op]) -> None:
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "history.edn"
        write_edn(History.of(ops), path)
        assert len(path.read_text().splitlines()) == len(ops)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "drawn"),
    [
        (test_a_history_in_memory, [operations()]),
        (test_recorded_in_chunks_and_written_as_parquet, [operations(), FLUSHES]),
        (test_as_json_lines, [operations(TEXT_KEYS) | operations(st.integers(0, 5))]),
        (test_as_json_lines_with_our_keys, [operations(TEXT_KEYS)]),
        (test_every_operation_has_a_form_in_edn, [operations()]),
    ],
)
def test_of_many_more_histories(promise: Any, drawn: list[Any]) -> None:
    over: Any = given(*drawn)
    many: Any = settings(max_examples=100)
    many(over(promise.hypothesis.inner_test))()
