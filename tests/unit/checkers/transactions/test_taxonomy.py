"""Elle's anomalies one by one, on lists and on registers: a history that has it, and its neighbour
that has not."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.models import Question, judge
from checkers.transactions.lattice import ruled_out
from checkers.verdict import Validity
from harness.history.history import History
from harness.history.op import Op, OpType

Part = tuple[str, str, Any]
Txn = tuple[int, OpType, tuple[Part, ...]]


def w(key: str, value: int) -> Part:
    return "w", key, value


def r(key: str, *seen: int) -> Part:
    """All that is in the list; a register has the last of it."""
    return "r", key, seen


def txn(process: int, *parts: Part, outcome: OpType = "ok") -> Txn:
    return process, outcome, parts


def history(model: str, order: str, txns: tuple[Txn, ...]) -> History:
    """`order`: a letter for each transaction, where it begins and where it ends."""
    rows: list[Op] = []
    begun: set[str] = set()
    for letter in order:
        process, outcome, parts = txns["abcd".index(letter)]
        type_: OpType = outcome if letter in begun else "invoke"
        begun.add(letter)
        told = [_told(model, part, done=type_ == "ok") for part in parts]
        rows.append(Op(len(rows), len(rows), process, type_, "txn", told))
    return History.of(rows)


def _told(model: str, part: Part, *, done: bool) -> list[Any]:
    name, key, value = part
    lists = model == "list-append"
    if name == "w":
        return ["append" if lists else "w", key, value]
    if not done:
        return ["r", key, None]
    return ["r", key, list(value) if lists else (value[-1] if value else None)]


ALL = ("list-append", "rw-register")
LISTS = ("list-append",)
REGISTERS = ("rw-register",)

X1 = (w("x", 1),)
SINGLE = ((r("x"), r("y", 1)), (w("x", 1), w("y", 1)))
CASES: list[tuple[str, tuple[str, ...], str, tuple[Txn, ...], tuple[Txn, ...]]] = [
    (
        "G0",
        LISTS,
        "abcabc",
        (
            txn(0, w("x", 1), w("y", 1)),
            txn(1, w("x", 2), w("y", 2)),
            txn(2, r("x", 1, 2), r("y", 2, 1)),
        ),
        (
            txn(0, w("x", 1), w("y", 1)),
            txn(1, w("x", 2), w("y", 2)),
            txn(2, r("x", 1, 2), r("y", 1, 2)),
        ),
    ),
    (
        "G0-process",
        LISTS,
        "aabbcc",
        (txn(0, *X1), txn(0, w("x", 2)), txn(1, r("x", 2, 1))),
        (txn(0, *X1), txn(0, w("x", 2)), txn(1, r("x", 1, 2))),
    ),
    (
        "G0-realtime",
        LISTS,
        "aabbcc",
        (txn(0, *X1), txn(1, w("x", 2)), txn(2, r("x", 2, 1))),
        (txn(0, *X1), txn(1, w("x", 2)), txn(2, r("x", 1, 2))),
    ),
    (
        "G1a",
        ALL,
        "aabb",
        (txn(0, *X1, outcome="fail"), txn(1, r("x", 1))),
        (txn(0, *X1, outcome="info"), txn(1, r("x", 1))),
    ),
    (
        "G1b",
        ALL,
        "abab",
        (txn(0, w("x", 1), w("x", 2)), txn(1, r("x", 1))),
        (txn(0, w("x", 1), w("x", 2)), txn(1, r("x", 1, 2))),
    ),
    (
        "G1c",
        ALL,
        "abab",
        (txn(0, w("x", 1), r("y", 1)), txn(1, w("y", 1), r("x", 1))),
        (txn(0, w("x", 1), r("y")), txn(1, w("y", 1), r("x", 1))),
    ),
    (
        "G1c-process",
        ALL,
        "aabb",
        (txn(0, r("x", 1)), txn(0, *X1)),
        (txn(0, r("x")), txn(0, *X1)),
    ),
    (
        "G1c-realtime",
        ALL,
        "aabb",
        (txn(0, r("x", 1)), txn(1, *X1)),
        (txn(0, r("x")), txn(1, *X1)),
    ),
    (
        "G-single-item",
        ALL,
        "abab",
        (txn(0, *SINGLE[0]), txn(1, *SINGLE[1])),
        (txn(0, r("x", 1), r("y", 1)), txn(1, *SINGLE[1])),
    ),
    (
        "G-single-item-process",
        ALL,
        "aabb",
        (txn(0, *X1), txn(0, r("x"))),
        (txn(0, *X1), txn(0, r("x", 1))),
    ),
    (
        "G-single-item-realtime",
        ALL,
        "aabb",
        (txn(0, *X1), txn(1, r("x"))),
        (txn(0, *X1), txn(1, r("x", 1))),
    ),
    (
        "G-nonadjacent-item",
        ALL,
        "abcdabcd",
        (
            txn(0, r("x"), r("v", 1)),
            txn(1, w("x", 1), w("y", 1)),
            txn(2, r("y", 1), r("z")),
            txn(3, w("z", 1), w("v", 1)),
        ),
        (
            txn(0, r("x"), r("v", 1)),
            txn(1, w("x", 1), w("y", 1)),
            txn(2, r("y", 1), r("z", 1)),
            txn(3, w("z", 1), w("v", 1)),
        ),
    ),
    (
        "G-nonadjacent-item-process",
        ALL,
        "cbddaabc",
        (
            txn(3, r("x")),
            txn(1, w("x", 1), w("y", 1)),
            txn(2, r("y", 1), r("z")),
            txn(3, w("z", 1)),
        ),
        (
            txn(0, r("x", 1)),
            txn(1, w("x", 1), w("y", 1)),
            txn(2, r("y", 1), r("z")),
            txn(3, w("z", 1)),
        ),
    ),
    (
        "G-nonadjacent-item-realtime",
        ALL,
        "cbddaabc",
        (
            txn(0, r("x")),
            txn(1, w("x", 1), w("y", 1)),
            txn(2, r("y", 1), r("z")),
            txn(3, w("z", 1)),
        ),
        (
            txn(0, r("x", 1)),
            txn(1, w("x", 1), w("y", 1)),
            txn(2, r("y", 1), r("z")),
            txn(3, w("z", 1)),
        ),
    ),
    (
        "G2-item",
        ALL,
        "abab",
        (txn(0, r("x"), w("y", 1)), txn(1, r("y"), w("x", 1))),
        (txn(0, r("x"), w("y", 1)), txn(1, r("y", 1), w("x", 1))),
    ),
    (
        "G2-item-process",
        ALL,
        "bccaab",
        (txn(0, r("x")), txn(1, w("x", 1), r("y")), txn(0, w("y", 1))),
        (txn(0, r("x")), txn(1, w("x", 1), r("y", 1)), txn(0, w("y", 1))),
    ),
    (
        "G2-item-realtime",
        ALL,
        "bccaab",
        (txn(0, r("x")), txn(1, w("x", 1), r("y")), txn(2, w("y", 1))),
        (txn(0, r("x")), txn(1, w("x", 1), r("y", 1)), txn(2, w("y", 1))),
    ),
    (
        "internal",
        ALL,
        "aabb",
        (txn(0, w("x", 1), r("x")), txn(1, r("x", 1))),
        (txn(0, w("x", 1), r("x", 1)), txn(1, r("x", 1))),
    ),
    (
        "incompatible-order",
        LISTS,
        "abcdabcd",
        (txn(0, *X1), txn(1, w("x", 2)), txn(2, r("x", 1, 2)), txn(3, r("x", 2, 1))),
        (txn(0, *X1), txn(1, w("x", 2)), txn(2, r("x", 1, 2)), txn(3, r("x", 1))),
    ),
    (
        "dirty-update",
        LISTS,
        "aabbcc",
        (txn(0, *X1, outcome="fail"), txn(1, w("x", 2)), txn(2, r("x", 1, 2))),
        (txn(0, *X1, outcome="info"), txn(1, w("x", 2)), txn(2, r("x", 1, 2))),
    ),
    (
        "lost-update",
        ALL,
        "abab",
        (txn(0, r("x"), w("x", 1)), txn(1, r("x"), w("x", 2))),
        (txn(0, r("x"), w("x", 1)), txn(1, r("x", 1), w("x", 2))),
    ),
    (
        "duplicate-elements",
        LISTS,
        "aabb",
        (txn(0, *X1), txn(1, r("x", 1, 1))),
        (txn(0, *X1), txn(1, r("x", 1))),
    ),
    (
        "future-read",
        ALL,
        "aabb",
        (txn(0, r("x", 1), *X1), txn(1, r("x", 1))),
        (txn(0, r("x"), *X1), txn(1, r("x", 1))),
    ),
    (
        "cyclic-versions",
        REGISTERS,
        "aabbcc",
        (txn(0, *X1), txn(1, w("x", 2)), txn(2, r("x", 1))),
        (txn(0, *X1), txn(1, w("x", 2)), txn(2, r("x", 1, 2))),
    ),
]
EACH = [
    pytest.param(model, type_, order, guilty, innocent, id=f"{model} {type_}")
    for type_, models, order, guilty, innocent in CASES
    for model in models
]


@pytest.mark.parametrize(("model", "type_", "order", "guilty", "innocent"), EACH)
def test_an_anomaly_is_found_where_it_is(
    model: str, type_: str, order: str, guilty: Any, innocent: Any
) -> None:
    result = judge(history(model, order, guilty), model, Question())
    assert result.validity is Validity.INVALID
    assert type_ in result.as_json()["anomaly-types"]


@pytest.mark.parametrize(("model", "type_", "order", "guilty", "innocent"), EACH)
def test_its_neighbour_is_innocent(
    model: str, type_: str, order: str, guilty: Any, innocent: Any
) -> None:
    result = judge(history(model, order, innocent), model, Question())
    assert result.as_json()["anomaly-types"] == []
    assert result.validity is Validity.VALID


@pytest.mark.parametrize("model", ALL)
def test_transactions_that_depend_on_nothing_prove_nothing(model: str) -> None:
    """Two at the same time, on registers of their own."""
    result = judge(history(model, "abab", (txn(0, *X1), txn(1, w("y", 1)))), model, Question())
    assert result.validity is Validity.UNKNOWN
    assert result.as_json()["anomaly-types"] == ["empty-transaction-graph"]


def test_a_circle_of_versions_is_told_step_by_step() -> None:
    _, _, order, guilty, _ = CASES[-1]
    (circle,) = judge(history("rw-register", order, guilty), "rw-register", Question()).found
    assert circle.ops == (1, 3, 5)
    assert circle.because == (
        "of the versions of x, by the order of time, 1 is before 2, because op 1 left the one and "
        "op 3, later, met the other; and 2 is before 1, because op 3 left the one and op 5, later, "
        "met the other: a contradiction"
    )
    assert circle.witness["sources"] == ["initial-state", "linearizable-keys"]


@pytest.mark.parametrize(
    ("processes", "weakest"),
    [((0, 0, 0), "strong-session-snapshot-isolation"), ((0, 1, 2), "strong-snapshot-isolation")],
)
def test_a_circle_of_versions_rules_out_no_more_than_it_proves(
    processes: tuple[int, ...], weakest: str
) -> None:
    parts: tuple[tuple[Part, ...], ...] = (X1, (w("x", 2),), (r("x", 1),))
    txns = tuple(txn(process, *each) for process, each in zip(processes, parts, strict=True))
    result = judge(history("rw-register", "aabbcc", txns), "rw-register", Question())
    assert result.as_json()["not"] == [weakest]
    assert "strict-serializable" in result.stats["also-not"]


def test_a_promise_without_order_lets_versions_go_round() -> None:
    _, _, order, guilty, _ = CASES[-1]
    question = Question(consistency_models=("serializable",))
    result = judge(history("rw-register", order, guilty), "rw-register", question)
    assert result.validity is Validity.VALID


def test_what_is_written_last_is_what_is_left() -> None:
    parts: tuple[tuple[Part, ...], ...] = (X1, (r("x", 1), w("x", 2)), (r("x", 2),), (r("x", 1),))
    txns = tuple(txn(process, *each) for process, each in enumerate(parts))
    result = judge(history("rw-register", "aabbcdcd", txns), "rw-register", Question())
    assert result.as_json()["anomaly-types"] == ["cyclic-versions"]
    assert result.found[0].ops == (1, 3, 6, 7)


def test_a_version_that_comes_again_closes_no_circle_by_itself() -> None:
    """The moment at which 1 is met again follows from 1 alone, too."""
    parts: tuple[tuple[Part, ...], ...] = (X1, (r("x", 1),), (r("x", 2),), (r("x", 1),))
    txns = tuple(txn(0, *each) for each in parts)
    result = judge(history("rw-register", "aabbccdd", txns), "rw-register", Question())
    (circle,) = (one for one in result.found if one.type == "cyclic-versions")
    assert len(circle.witness["steps"]) == 2


def test_a_long_circle_of_sessions_is_as_short_as_can_be() -> None:
    """Each session orders two versions; only all three together contradict themselves."""
    rows: list[Op] = []
    for process, (one, other) in enumerate(((1, 2), (2, 3), (3, 1))):
        for value in (one, other):
            rows.append(Op(len(rows), 0, process, "ok", "txn", [["r", "x", value]]))
    rows.append(Op(len(rows), 0, 9, "ok", "txn", [["w", "x", 1], ["w", "y", 1]]))
    question = Question(consistency_models=("strong-session-serializable",))
    (circle,) = judge(History.of(rows), "rw-register", question).found
    assert circle.type == "cyclic-versions"
    assert circle.witness["versions"] == [1, 2, 3]
    assert len(circle.witness["steps"]) == 3
    assert "minimal" not in circle.witness


@pytest.mark.parametrize(
    ("types", "weakest", "stronger"),
    [
        ({"G0"}, {"read-uncommitted"}, {"read-committed", "serializable", "strict-serializable"}),
        ({"G1c"}, {"read-committed"}, {"snapshot-isolation", "serializable"}),
        ({"G-single-item"}, {"consistent-view", "repeatable-read"}, {"serializable"}),
        ({"G2-item"}, {"repeatable-read"}, {"serializable", "strict-serializable"}),
        ({"lost-update"}, {"cursor-stability", "update-atomic"}, {"snapshot-isolation"}),
        ({"G2-item-realtime"}, {"strict-serializable"}, set()),
        ({"internal"}, {"causal-cerone", "prefix", "read-atomic"}, {"serializable"}),
    ],
)
def test_what_is_ruled_out(types: set[str], weakest: set[str], stronger: set[str]) -> None:
    found, above = ruled_out(frozenset(types))
    assert weakest >= set(found)
    assert stronger <= set(above)
    assert not stronger & set(found)
