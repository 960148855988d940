"""Every model: what it condemns, what it lets pass, and what proves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.contract import Contract
from checkers.models import MODELS, Question, judge
from checkers.verdict import Validity
from harness.history.history import History
from harness.history.op import Op, OpType
from tests.unit.checkers.stories import told

Operation = tuple[int, OpType, str, Any]


def ok(process: int, f: str, value: Any = None) -> Operation:
    return process, "ok", f, value


def txn(process: int, *parts: list[Any]) -> Operation:
    return process, "ok", "txn", list(parts)


GUILTY: dict[str, tuple[tuple[Operation, ...], str]] = {
    "kafka": (
        (ok(0, "send", [["send", "x", [0, 1]]]), ok(1, "poll", [["poll", {"x": [[0, 2]]}]])),
        "inconsistent-offsets",
    ),
    "list-append": (
        (txn(0, ["append", "x", 1]), txn(1, ["append", "x", 2]), txn(2, ["r", "x", [2, 1]])),
        "G0-realtime",
    ),
    "rw-register": (
        (txn(0, ["w", "x", 1], ["r", "y", 1]), txn(1, ["w", "y", 1], ["r", "x", 1])),
        "G1c",
    ),
    "register": ((ok(0, "write", 1), ok(0, "write", 2), ok(1, "read", 1)), "nonlinearizable"),
    "cas-register": (
        (ok(0, "write", 1), ok(0, "cas", [1, 2]), ok(1, "read", 1)),
        "nonlinearizable",
    ),
    "multi-register": (
        (txn(0, ["write", "x", 1], ["write", "y", 1]), txn(1, ["read", "y", 2])),
        "nonlinearizable",
    ),
    "kv-append": (
        (ok(0, "append", "a"), ok(0, "append", "b"), ok(1, "get", "ba")),
        "nonlinearizable",
    ),
    "mutex": ((ok(0, "acquire"), ok(1, "acquire")), "nonlinearizable"),
    "fifo-queue": (
        (ok(0, "enqueue", 1), ok(0, "enqueue", 2), ok(1, "dequeue", 2)),
        "nonlinearizable",
    ),
    "stack": ((ok(0, "push", 1), ok(0, "push", 2), ok(1, "pop", 1)), "nonlinearizable"),
    "set": ((ok(0, "add", 1), ok(1, "read", [])), "lost"),
    "set-full": ((ok(0, "add", 1), ok(1, "read", [1]), ok(1, "read", [])), "lost"),
    "queue": ((ok(0, "enqueue", 1), ok(1, "dequeue", 1), ok(1, "dequeue", 1)), "unexpected"),
    "total-queue": ((ok(0, "enqueue", 1), ok(0, "enqueue", 2), ok(1, "dequeue", 1)), "lost"),
    "counter": ((ok(0, "add", 1), ok(1, "read", 2)), "out-of-bounds"),
    "unique-ids": ((ok(0, "generate", 1), ok(1, "generate", 1)), "duplicate"),
    "bank": ((ok(0, "read", {"a": 5, "b": 5}), ok(0, "read", {"a": 4, "b": 5})), "wrong-total"),
    "long-fork": (
        (txn(0, ["r", "x", 1], ["r", "y", None]), txn(1, ["r", "x", None], ["r", "y", 1])),
        "long-fork",
    ),
}
INNOCENT: dict[str, tuple[Operation, ...]] = {
    "kafka": (ok(0, "send", [["send", "x", [0, 1]]]), ok(1, "poll", [["poll", {"x": [[0, 1]]}]])),
    "list-append": (
        txn(0, ["append", "x", 1]),
        txn(1, ["append", "x", 2]),
        txn(2, ["r", "x", [1, 2]]),
    ),
    "rw-register": (txn(0, ["w", "x", 1]), txn(1, ["w", "y", 1], ["r", "x", 1])),
    "register": (ok(0, "write", 1), (0, "info", "write", 2), ok(1, "read", 2)),
    "cas-register": (ok(0, "write", 1), (1, "fail", "cas", [1, 2]), ok(1, "read", 1)),
    "multi-register": (txn(0, ["write", "x", 1], ["write", "y", 1]), txn(1, ["read", "y", 1])),
    "kv-append": (ok(0, "append", "a"), ok(0, "append", "b"), ok(1, "get", "ab")),
    "mutex": (ok(0, "acquire"), ok(0, "release"), ok(1, "acquire")),
    "fifo-queue": (ok(0, "enqueue", 1), ok(0, "enqueue", 2), ok(1, "dequeue", 1)),
    "stack": (ok(0, "push", 1), ok(0, "push", 2), ok(1, "pop", 2)),
    "set": (ok(0, "add", 1), (0, "info", "add", 2), ok(1, "read", [1, 2])),
    "set-full": (ok(0, "add", 1), ok(1, "read", [1]), ok(1, "read", [1])),
    "queue": (ok(0, "enqueue", 1), ok(0, "enqueue", 1), ok(1, "dequeue", 1), ok(1, "dequeue", 1)),
    "total-queue": (ok(0, "enqueue", 1), (0, "info", "enqueue", 2), ok(1, "drain", [1])),
    "counter": (ok(0, "add", 1), (0, "info", "add", 1), ok(1, "read", 2)),
    "unique-ids": (ok(0, "generate", 1), ok(1, "generate", "1")),
    "bank": (ok(0, "read", {"a": 5, "b": 5}), ok(0, "read", {"a": 4, "b": 6})),
    "long-fork": (txn(0, ["r", "x", 1], ["r", "y", None]), txn(1, ["r", "x", 1], ["r", "y", 1])),
}


def test_every_model_has_its_histories() -> None:
    assert GUILTY.keys() == INNOCENT.keys() == set(MODELS)


@pytest.mark.parametrize("model", MODELS)
def test_the_guilty_are_found(model: str) -> None:
    operations, type_ = GUILTY[model]
    result = judge(told(*operations), model, Question())
    assert result.validity is Validity.INVALID, result.why
    assert type_ in result.as_json()["anomaly-types"]


@pytest.mark.parametrize("model", MODELS)
def test_the_innocent_neighbour_is_spared(model: str) -> None:
    result = judge(told(*INNOCENT[model]), model, Question())
    assert result.validity is Validity.VALID, (result.why, result.found)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rows", [[], [Op(0, 0, 0, "ok", "describe", {"a": 1})]])
def test_nothing_proves_nothing(model: str, rows: list[Op]) -> None:
    result = judge(History.of(rows), model, Question())
    assert result.validity is Validity.UNKNOWN
    assert result.why
    assert "broke" not in result.why


UNPROVEN: dict[str, tuple[Operation, ...]] = {
    "register": (ok(0, "write", 1), (1, "info", "read", 1), (1, "fail", "read", 2)),
    "cas-register": (ok(0, "write", 1), (1, "info", "cas", [1, 2]), ok(2, "read", None)),
    "multi-register": (txn(0, ["w", "x", 1]), txn(1, ["r", "x", None])),
    "kv-append": (ok(0, "put", "a"), ok(0, "append", "b"), (1, "info", "get", "c")),
    "mutex": ((0, "info", "acquire", None), (1, "fail", "release", None)),
    "fifo-queue": (ok(0, "enqueue", 1), (1, "info", "dequeue", None)),
    "stack": (ok(0, "push", 1), (1, "fail", "pop", 2)),
    "queue": ((0, "info", "enqueue", 1), (1, "info", "dequeue", 1)),
    "total-queue": ((0, "info", "enqueue", 1),),
}


@pytest.mark.parametrize("model", UNPROVEN)
def test_operations_that_assert_nothing_prove_nothing(model: str) -> None:
    result = judge(told(*UNPROVEN[model]), model, Question())
    assert result.validity is Validity.UNKNOWN
    assert result.why
    assert "broke" not in result.why


def test_where_all_failed_nothing_is_left_to_be_seen() -> None:
    history = told((0, "fail", "write", 1), (1, "fail", "read", None))
    assert judge(history, "register", Question()).validity is Validity.VALID


@pytest.mark.parametrize("model", UNPROVEN)
def test_what_the_nemesis_did_proves_nothing(model: str) -> None:
    rows = [Op(at, at, -1, "info", one[2], one[3]) for at, one in enumerate(INNOCENT[model])]
    assert judge(History.of(rows), model, Question()).validity is Validity.UNKNOWN


def test_a_budget_that_is_used_up_is_told() -> None:
    rows = [Op(at, at, at, "invoke", "write", at % 2) for at in range(12)]
    rows += [Op(12 + at, 12 + at, at, "ok", "write", at % 2) for at in range(12)]
    rows += [Op(24, 24, 30, "invoke", "read"), Op(25, 25, 30, "ok", "read", 7)]
    result = judge(History.of(rows), "register", Question(budget=10))
    assert result.validity is Validity.UNKNOWN
    assert result.why == "no answer within 10 configurations"


def test_a_read_of_null_asserts_only_when_asked() -> None:
    history = told(ok(0, "write", 1), ok(1, "read", None))
    assert judge(history, "register", Question()).validity is Validity.UNKNOWN
    asked = Question(null_read="asserts")
    assert judge(history, "register", asked).validity is Validity.INVALID


def test_a_failed_cas_asserts_only_when_asked() -> None:
    history = told(ok(0, "write", 1), (1, "fail", "cas", [1, 2]))
    assert judge(history, "cas-register", Question()).validity is Validity.UNKNOWN
    asked = Question(failed_cas="asserts")
    assert judge(history, "cas-register", asked).validity is Validity.INVALID


def test_initial_values_are_as_given() -> None:
    history = told(ok(1, "read", 3))
    assert judge(history, "register", Question()).validity is Validity.INVALID
    assert judge(history, "register", Question(initial=3)).validity is Validity.VALID


def test_a_weaker_promise_allows_more_and_the_rest_is_told() -> None:
    operations, _ = GUILTY["rw-register"]
    weaker = Question(consistency_models=("read-uncommitted",))
    result = judge(told(*operations), "rw-register", weaker)
    assert result.validity is Validity.VALID
    assert result.as_json()["allowed"] == ["G1c"]
    assert result.as_json()["not"] == ["read-committed"]


def test_a_cycle_is_told_step_by_step() -> None:
    operations, _ = GUILTY["rw-register"]
    (cycle,) = judge(told(*operations), "rw-register", Question()).found
    assert cycle.because == (
        "let T1 = op 1, T2 = op 3: T1 < T2, because T1 wrote 1 to x, which T2 read; however "
        "T2 < T1, because T2 wrote 1 to y, which T1 read: a contradiction"
    )


def test_a_consistency_model_that_nobody_knows_is_refused() -> None:
    result = judge(
        told(txn(0, ["r", "x", None])), "list-append", Question(consistency_models=("x",))
    )
    assert result.validity is Validity.UNKNOWN
    assert "unknown consistency model: x" in result.why


def test_what_is_taken_away_meanwhile_may_be_missing_from_a_read() -> None:
    rows = [
        Op(0, 0, 0, "invoke", "read"),
        Op(1, 1, 1, "invoke", "add", -2),
        Op(2, 2, 1, "ok", "add", -2),
        Op(3, 3, 0, "ok", "read", -2),
    ]
    assert judge(History.of(rows), "counter", Question()).validity is Validity.VALID


def test_one_record_too_many_makes_none_of_the_next_too_many() -> None:
    history = told(ok(1, "dequeue", 1), ok(0, "enqueue", 1), ok(1, "dequeue", 1))
    result = judge(history, "queue", Question())
    assert result.stats["counts"] == {"unexpected": 1}


def test_a_late_set_is_a_fault_only_of_one_that_must_be_linearizable() -> None:
    history = told(ok(0, "add", 1), ok(1, "read", []), ok(1, "read", [1]))
    result = judge(history, "set-full", Question())
    assert result.validity is Validity.VALID
    assert result.as_json()["allowed"] == ["stale"]
    strict = Question(consistency_models=("linearizable",))
    assert judge(history, "set-full", strict).validity is Validity.INVALID


def test_a_set_that_is_never_read_afterwards_proves_nothing() -> None:
    history = told(ok(1, "read", []), ok(0, "add", 1))
    assert judge(history, "set-full", Question()).validity is Validity.UNKNOWN


def test_a_key_that_is_written_twice_proves_nothing_of_forks() -> None:
    written = [txn(0, ["w", "x", 1]), txn(0, ["w", "x", 2])]
    operations, _ = GUILTY["long-fork"]
    result = judge(told(*written, *operations), "long-fork", Question())
    assert result.validity is Validity.UNKNOWN
    assert result.why == "keys must be written once, and these were written again: x"


WEAK = Contract(
    acks="0", idempotence=False, isolation_level="read_uncommitted", judged_by="configured"
)


@pytest.mark.parametrize(
    ("model", "operations", "type_"),
    [
        ("unique-ids", (ok(0, "generate", 4), ok(0, "generate", 4)), "duplicate"),
        ("set-full", ((0, "fail", "add", 4), ok(0, "add", 5), ok(0, "read", [4, 5])), "G1a"),
    ],
)
def test_what_kafka_is_configured_with_excuses_no_other_object(
    model: str, operations: tuple[Operation, ...], type_: str
) -> None:
    result = judge(told(*operations), model, Question(contract=WEAK))
    assert result.validity is Validity.INVALID
    (anomaly,) = (one for one in result.found if one.type == type_)
    assert anomaly.severity == "error"
    assert anomaly.contract == f"No configuration allows {type_}."
