"""What is named as proof proves it, in words of the history; what fewer might prove says so."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.columns import Columns
from checkers.counts import queues
from checkers.counts.told import Found, judged
from checkers.findings import SHOWN
from checkers.models import Question, judge
from checkers.verdict import Anomaly, Validity
from harness.history.history import History
from harness.history.op import Op, OpType
from tests.unit.checkers.stories import told

Step = tuple[int, OpType, str, Any]


def anomaly(model: str, *steps: Step, initial: Any = None) -> Anomaly:
    question = Question(initial=initial, has_initial=initial is not None)
    result = judge(told(*steps), model, question)
    assert result.validity is Validity.INVALID
    return result.found[0]


def ok(f: str, value: Any = None) -> Step:
    return 0, "ok", f, value


@pytest.mark.parametrize(
    ("model", "steps", "ops"),
    [
        ("register", [ok("write", 1), ok("write", 2), ok("read", 1)], (5,)),
        ("mutex", [ok("acquire"), ok("acquire")], (3,)),
        ("stack", [ok("push", 1), ok("push", 2), ok("pop", 1), ok("pop", 2)], (1, 5)),
        # Another take that found nothing may have met fewer values; nobody looks for it.
        ("stack", [ok("push", 1), ok("pop"), ok("pop", 1)], (1, 3, 5)),
        ("fifo-queue", [ok("enqueue", 1), ok("dequeue"), ok("dequeue", 1)], (1, 3, 5)),
        ("counter", [ok("add", 1), ok("read", 5)], (3,)),
    ],
)
def test_what_fewer_might_prove_is_marked(
    model: str, steps: list[Step], ops: tuple[int, ...]
) -> None:
    found = anomaly(model, *steps)
    assert found.ops == ops
    assert found.witness["minimal"] is False


@pytest.mark.parametrize(
    ("model", "steps", "ops"),
    [
        ("stack", [ok("push", 1), ok("pop", 2)], (3,)),
        ("stack", [ok("push", 1), ok("pop")], (1, 3)),
        ("fifo-queue", [ok("enqueue", 1), ok("dequeue")], (1, 3)),
        ("fifo-queue", [ok("enqueue", 1), ok("enqueue", 2), ok("dequeue", 2)], (1, 3, 5)),
        # The one that nobody put there is shorter than the one taken twice before it.
        (
            "fifo-queue",
            [ok("enqueue", 1), ok("dequeue", 1), ok("dequeue", 1), ok("dequeue", 7)],
            (7,),
        ),
        ("unique-ids", [ok("generate", 1), ok("generate", 2), ok("generate", 1)], (1, 5)),
        ("bank", [ok("read", {"a": 5}), ok("read", {"a": 5}), ok("read", {"a": 6})], (1, 5)),
        ("bank", [ok("read", {"a": 5}), ok("read", {"a": 5, "b": 0})], (1, 3)),
        ("bank", [ok("read", {"a": -5}), ok("read", {"a": -5})], (1,)),
        ("queue", [ok("dequeue", 1)], (1,)),
        ("queue", [ok("enqueue", 1), ok("dequeue", 1), ok("dequeue", 1)], (1, 3, 5)),
        ("total-queue", [(0, "fail", "enqueue", 1), ok("enqueue", 1), ok("drain", [2])], (3,)),
        ("total-queue", [ok("enqueue", 1), ok("enqueue", 1), ok("dequeue", 1)], (1, 3, 5)),
    ],
)
def test_the_operations_that_prove_it(model: str, steps: list[Step], ops: tuple[int, ...]) -> None:
    found = anomaly(model, *steps)
    assert found.ops == ops
    assert "minimal" not in found.witness


@pytest.mark.parametrize("initial", [5, {"a": 5}])
def test_a_total_that_was_given_needs_no_other_read(initial: Any) -> None:
    steps = (ok("read", {"a": 5}), ok("read", {"a": 6}))
    assert anomaly("bank", *steps, initial=initial).ops == (3,)


def test_takes_of_unknown_outcome_that_were_too_few_are_not_named() -> None:
    steps = [ok("enqueue", value) for value in (1, 2, 3)]
    found = anomaly("fifo-queue", *steps, (1, "info", "dequeue", None), ok("dequeue", 3))
    assert found.witness["minimal"] is False


def test_the_fewest_values_that_were_there_all_the_time() -> None:
    """1 leaves while 2 is there, and 3 comes and goes within 2."""
    rows: list[tuple[int, OpType, str, Any]] = [
        *((0, "invoke", "push", 1), (0, "ok", "push", 1)),
        (9, "invoke", "pop", None),
        *((0, "invoke", "push", 2), (0, "ok", "push", 2)),
        *((1, "invoke", "pop", None), (1, "ok", "pop", 1)),
        *((0, "invoke", "push", 3), (0, "ok", "push", 3)),
        *((1, "invoke", "pop", None), (1, "ok", "pop", 3)),
        (9, "ok", "pop", None),
        *((1, "invoke", "pop", None), (1, "ok", "pop", 2)),
    ]
    history = History.of(Op(at, at, *row) for at, row in enumerate(rows))
    (found,) = judge(history, "stack", Question()).found
    assert found.ops == (1, 4, 6, 11, 13)


def test_the_total_queue_says_how_often() -> None:
    twice = (ok("enqueue", "a"), ok("enqueue", "a"))
    for drained, often in ((["a"], "only 1 of 2 times"), (["b"], "never")):
        said = anomaly("total-queue", *twice, ok("drain", drained)).because
        assert said == f'"a" was enqueued and {often} dequeued'


@pytest.mark.parametrize(
    ("model", "steps", "said"),
    [
        ("set", [ok("add", 1), ok("read", [1, None])], "the last read has null, which"),
        ("set-full", [ok("add", 1), ok("read", [1, "1"])], 'a read has "1", which no process'),
        ("set-full", [ok("add", None), ok("read", [])], "null was in the set, and"),
        ("queue", [ok("dequeue", [True])], "[true] was dequeued"),
        ("register", [ok("write", 1), ok("read", {"a": None})], 'read {"a": null}'),
    ],
)
def test_values_are_told_as_the_history_has_them(model: str, steps: list[Step], said: str) -> None:
    found = anomaly(model, *steps)
    assert said in found.because


def test_a_long_value_is_not_told_whole() -> None:
    found = anomaly("register", ok("write", 1), ok("read", "x" * 10_000))
    assert len(found.because) < 300


@pytest.mark.parametrize(
    ("one", "other"),
    [(None, "null"), (True, "true"), ([1], "[1]"), (1, "1"), (1, True), (1.5, "1.5"), (1, 1.0)],
)
def test_values_that_only_look_alike_are_two(one: Any, other: Any) -> None:
    result = judge(told(ok("generate", one), ok("generate", other)), "unique-ids", Question())
    assert result.validity is Validity.VALID


def test_the_keys_of_an_object_have_no_order() -> None:
    one, other = {"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"d": 3, "c": 2}], "a": 1}
    result = judge(told(ok("write", one), ok("read", other)), "register", Question())
    assert result.validity is Validity.VALID
    sent = ok("send", [["send", "x", [0, one]]])
    polled = ok("poll", [["poll", {"x": [[0, other]]}]])
    assert judge(told(sent, polled), "kafka", Question()).validity is Validity.VALID


def test_registers_of_a_number_and_of_its_text_are_two() -> None:
    writes = ok("txn", [["w", 1, 1], ["w", "1", 2]])
    for key, value, validity in ((1, 1, Validity.VALID), (1, 2, Validity.INVALID)):
        history = told(writes, ok("txn", [["r", key, value]]))
        assert judge(history, "multi-register", Question()).validity is validity


@pytest.mark.parametrize(("key", "value"), [(1, 7), ("x", 8), ("y", None)])
def test_registers_begin_as_the_object_says_and_the_others_empty(key: Any, value: Any) -> None:
    question = Question(initial={"1": 7, "x": 8}, has_initial=True, null_read="asserts")
    history = told(ok("txn", [["r", key, value]]))
    assert judge(history, "multi-register", question).validity is Validity.VALID


def test_half_a_character_is_a_text() -> None:
    history = told(ok("put", "\ud800"), ok("append", "a"), ok("get", "\ud800a"))
    assert judge(history, "kv-append", Question()).validity is Validity.VALID


def test_a_key_that_is_read_twice_is_one_key_to_forks() -> None:
    history = told(ok("read", [["r", 1, None], ["r", 1, 1]]))
    assert judge(history, "long-fork", Question()).validity is Validity.UNKNOWN


def test_what_is_not_shown_takes_no_proof_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that comes out again and again: all that was done with it, each time, is too much."""
    rows = 0

    def counted(columns: Columns, found: list[Found], *given: Any) -> Any:
        nonlocal rows
        rows = sum(len(one[1]) for one in found)
        return judged(columns, found, *given)

    monkeypatch.setattr(queues, "judged", counted)
    found = anomaly("queue", ok("enqueue", 1), *[ok("dequeue", 1)] * 500)
    assert found.ops == (1, 3, 5)
    assert rows < 500 + SHOWN * SHOWN
