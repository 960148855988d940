"""Every shape of docs/reference/history.md is taken apart, and put together again exactly."""

from typing import Any

import pytest

from harness.history import kinds
from harness.history.element import Element
from harness.history.flatten import flatten
from harness.history.nest import nest

SHAPES: list[tuple[str, Any, list[str]]] = [
    ("send", [["send", "t-0", 7]], ["send"]),
    ("send", [["send", "t-0", [3, 7]]], ["sent"]),
    ("send", [["send", "t-0", [None, 7]]], ["sent"]),
    ("send", [["send", 11, None]], ["send"]),
    ("send", [["send", "t-0", "as it came"], ["send", "t-1", [1, 2, 3]]], ["send", "send"]),
    ("poll", [["poll"]], ["poll"]),
    ("poll", [["poll", {}]], ["polled-nothing"]),
    ("poll", [["poll", {"t-0": []}]], ["polled-empty"]),
    (
        "poll",
        [["poll", {"t-0": [[0, 1], [1, 2]], "t-1": []}]],
        ["record", "record", "polled-empty"],
    ),
    ("poll", [["poll", {11: [[None, None]]}], ["poll", {11: [[1, 2]]}]], ["record", "record"]),
    ("txn", [["send", "t-0", [4, 1]], ["poll", {"t-0": [[4, 1]]}]], ["sent", "record"]),
    ("txn", [["append", "x", 1], ["r", "y", None]], ["append", "read"]),
    ("txn", [["r", "x", []], ["r", "x", [1]]], ["read-empty", "read-element"]),
    ("txn", [["r", "x", [1, None, "a"]]], ["read-element"] * 3),
    ("txn", [["r", "x", [[1]]]], ["read-element"]),
    ("txn", [["w", "x", 1], ["r", "x", 1]], ["write", "read"]),
    (
        "txn",
        [["send", "x", 1], ["pause", 40], ["poll"], ["abort"]],
        ["send", "pause", "poll", "abort"],
    ),
    ("transaction", {"id": "t", "steps": [["begin", "ok", 0]]}, ["value"]),
    ("put", [["put", "t-0/a", 5]], ["put"]),
    ("put", [["put", "t-0/a", [9, 5]]], ["put-at"]),
    ("get", [["get", "t-0/a", None]], ["get"]),
    ("get", [["get", "t-0/a", [1, 2]]], ["get-at"]),
    ("get", [["get", "t-0/a", [1, None]]], ["get-at"]),
    ("get", [["get", "t-0/a", [1, 2, 3]]], ["get"]),
    ("assign", ["t-0", "t-1"], ["assign", "assign"]),
    ("assign", {"t-0": 5, 11: None}, ["assign-at", "assign-at"]),
    ("subscribe", [11, "t-1"], ["assign", "assign"]),
    (
        "commit",
        {"group": "g", "generation": 4, "member": "m", "offsets": {"t-0": 9}},
        ["group", "member", "commit"],
    ),
    (
        "committed",
        {"group": "g", "generation": None, "member": None, "offsets": {}},
        ["group", "member"],
    ),
    ("assigned", {"group": "g", "generation": 4, "keys": ["t-0"]}, ["group", "owned"]),
    ("revoked", {"group": "g", "generation": 4, "keys": []}, ["group"]),
    ("lost", {"group": "g", "generation": None, "keys": [1, 2]}, ["group", "owned", "owned"]),
    ("end-offsets", {"high": {"t-0": 4}, "low": {"t-0": 0}}, ["high", "low"]),
    ("end-offsets", {"stable": {"t-0": 4, "t-1": None}}, ["stable", "stable"]),
    ("end-offsets", {"low": {}, "high": {11: 4}}, ["low", "high"]),
    ("transform", {"in": [["t-0", 4]], "out": [["u-0", [None, 5]]]}, ["in", "out"]),
    ("transform", {"in": [], "out": [["u-0", [3, 5]]]}, ["out"]),
    ("transform", {"in": [["t-0", 4]], "out": []}, ["in"]),
    ("crash", None, []),
    ("read", 5, ["value"]),
    ("cas", [1, 2], ["value"]),
    ("create", {"topic": "t", "partitions": 3}, ["value"]),
]

ODD: list[tuple[str, Any]] = [
    ("txn", []),
    ("txn", [[]]),
    ("txn", [["send"]]),
    ("txn", [["send", "t-0", 1], ["jump", "t-0", 1]]),
    ("txn", [["send", ["t-0"], 1]]),
    ("txn", [["send", True, 1]]),
    ("txn", [[5, "t-0", 1]]),
    ("txn", "text"),
    ("poll", [["poll", None]]),
    ("poll", [["poll", {"t-0": [["0", 1]]}]]),
    ("poll", [["poll", {"t-0": [[1 << 63, 1]]}]]),
    ("poll", [["poll", {"t-0": 5}]]),
    ("poll", [["poll", {"t-0": [[0, 1]]}], ["poll", 1, 2]]),
    ("r", [["r", "x"]]),
    ("assign", []),
    ("assign", {}),
    ("assign", [None]),
    ("assign", {"t-0": "end"}),
    ("commit", {"group": "g"}),
    ("commit", {"group": "g", "generation": "4", "member": None, "offsets": {}}),
    ("commit", {"group": "g", "generation": 4, "member": None, "offsets": []}),
    ("assigned", {"group": "g", "generation": 4, "keys": "t-0"}),
    ("assigned", {"group": "g", "generation": 0.5, "keys": []}),
    ("end-offsets", {}),
    ("end-offsets", {"middle": {"t-0": 1}}),
    ("transform", {"in": [], "out": []}),
    ("transform", {"in": [["t-0", None]], "out": []}),
    ("transform", {"in": [["t-0"]], "out": []}),
    ("transform", {"in": [["t-0", 4]], "out": [["u-0", 5]]}),
    ("transform", {"in": 4, "out": []}),
]


@pytest.mark.parametrize(("f", "value", "expected"), SHAPES)
def test_a_shape_is_taken_apart_and_put_together(f: str, value: Any, expected: list[str]) -> None:
    elements = flatten(f, value)
    assert [kinds.NAMES[element.kind] for element in elements] == expected
    assert nest(elements) == (value, None)


@pytest.mark.parametrize(("f", "value"), ODD)
def test_what_has_no_such_shape_is_kept_whole(f: str, value: Any) -> None:
    elements = flatten(f, value)
    assert elements == [Element(kinds.VALUE, 0, None, None, value)]
    assert nest(elements) == (value, None)


def test_positions_number_micro_operations_and_not_records() -> None:
    value = [["poll", {"t-0": [[0, 1], [1, 2]]}], ["send", "t-1", 3]]
    assert [element.position for element in flatten("txn", value)] == [0, 0, 1]


def test_further_fields_come_last() -> None:
    extra: dict[str, Any] = {"rebalance-log": []}
    elements = flatten("poll", [["poll", {}]], extra)
    assert elements[-1].kind == kinds.EXTRA
    assert nest(elements) == ([["poll", {}]], extra)
    assert nest(flatten("crash", None, extra)) == (None, extra)


def test_every_kind_has_a_name_and_a_number_of_its_own() -> None:
    numbers = {
        name.lower().replace("_", "-"): number
        for name, number in vars(kinds).items()
        if isinstance(number, int)
    }
    assert numbers == {name: number for number, name in enumerate(kinds.NAMES)}
