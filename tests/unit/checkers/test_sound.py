"""What cannot be judged is refused with a sentence, before any checker has trusted it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from checkers.models import LEAN
from checkers.sound import sound_history
from harness.history.errors import HistoryError


def refusal(path: Path, model: str) -> str:
    with pytest.raises(HistoryError) as caught:
        sound_history(path, model, lean=model in LEAN)
    return str(caught.value)


GOOD = {"process": 0, "type": "ok", "f": "send", "value": [["send", "x", [0, 1]]]}


@pytest.mark.parametrize(
    ("model", "f", "value"),
    [
        ("kafka", "poll", [["poll", {"x": [0, 1]}]]),
        ("kafka", "send", [["send", "x"]]),
        ("kafka", "txn", "everything"),
        ("kafka", "commit", {"x": 5}),
        ("kafka", "assigned", ["x"]),
        ("kafka", "end-offsets", {"high": {"x": "far"}}),
        ("kafka", "transform", [1]),
        ("list-append", "txn", [["append", "x"]]),
        ("rw-register", "txn", [["w", "x", 1], ["read", "x", 1]]),
    ],
)
def test_a_value_of_another_shape_is_refused_with_its_line(
    tmp_path: Path, model: str, f: str, value: Any
) -> None:
    path = tmp_path / "history.jsonl"
    bad = {"process": 1, "type": "ok", "f": f, "value": value}
    path.write_text(f"{json.dumps(GOOD)}\n\n{json.dumps(bad)}\n")
    said = refusal(path, model)
    assert said.startswith(f"{path}, line 3: expected ")
    assert said.endswith(f"as value of {f}, found {json.dumps(value)}")


def test_the_line_of_an_operation_in_edn(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(
        "[{:process 0 :type :ok :f :txn :value [[:append 1 1]]}\n"
        " {:process 1 :type :ok :f :txn :value [[:append 1]]}]\n"
    )
    assert refusal(path, "list-append").startswith(f"{path}, line 2: expected ")


@pytest.mark.parametrize(
    ("f", "value"),
    [
        ("assign", []),
        ("debug", "anything"),
        ("crash", None),
        ("poll", None),
        ("describe", {"a": 1}),
    ],
)
def test_what_the_model_does_not_know_is_passed_over(tmp_path: Path, f: str, value: Any) -> None:
    path = tmp_path / "history.jsonl"
    row = {"process": 1, "type": "ok", "f": f, "value": value}
    nemesis = {"process": "nemesis", "type": "info", "f": "poll", "value": "partition"}
    path.write_text("".join(json.dumps(one) + "\n" for one in (GOOD, row, nemesis)))
    assert len(sound_history(path, "kafka", lean=True)) == 3


@pytest.mark.parametrize(
    ("model", "value"),
    [
        ("list-append", [["w", "x", 1]]),
        ("list-append", [["append", "x", 1], ["r", "x", 7]]),
        ("rw-register", [["append", "x", 1]]),
        ("rw-register", [["w", "x", 1], ["r", "x", []]]),
        ("rw-register", [["r", "x", [1]]]),
    ],
)
@pytest.mark.parametrize("type_", ["invoke", "ok", "info"])
def test_micro_operations_of_the_other_model_are_refused(
    tmp_path: Path, model: str, value: Any, type_: str
) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(json.dumps({"process": 0, "type": type_, "f": "txn", "value": value}) + "\n")
    said = refusal(path, model)
    assert said.startswith(f"{path}, line 1: expected [")
    assert said.endswith(f"in a history of {model}, found {json.dumps(value)}")


@pytest.mark.parametrize(
    ("model", "value"),
    [
        ("list-append", [["append", "x", None]]),
        ("list-append", [["append", "x", 1], ["r", "x", [1, None]]]),
        ("rw-register", [["w", "x", None]]),
    ],
)
def test_null_is_no_value_of_a_transaction(tmp_path: Path, model: str, value: Any) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(json.dumps({"process": 0, "type": "ok", "f": "txn", "value": value}) + "\n")
    assert f"line 1: expected values that are not null in a history of {model}, found [" in refusal(
        path, model
    )


@pytest.mark.parametrize("log", [5, [5], [{"keys": 7}], {"keys": ["x"]}])
def test_a_rebalance_log_of_another_shape_is_refused(tmp_path: Path, log: Any) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(json.dumps(GOOD | {"rebalance-log": log}) + "\n")
    said = f'line 1: expected [{{"keys": [k, ...]}}, ...] as rebalance-log, found {json.dumps(log)}'
    assert said in refusal(path, "kafka")
    for fine in ([{"keys": ["x"]}, {}], None):
        path.write_text(json.dumps(GOOD | {"rebalance-log": fine}) + "\n")
        assert len(sound_history(path, "kafka", lean=True)) == 1


@pytest.mark.parametrize("model", ["list-append", "rw-register"])
def test_a_read_of_null_is_of_either_model(tmp_path: Path, model: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"process": 0, "type": "invoke", "f": "txn", "value": [["r", "x", null]]}\n')
    assert len(sound_history(path, model, lean=True)) == 1


MISFITS: list[tuple[str, str, Any]] = [
    ("counter", "add", "x"),
    ("counter", "add", None),
    ("counter", "add", True),
    ("counter", "add", 1.5),
    ("counter", "inc", "x"),
    ("counter", "read", "99"),
    ("set", "read", 7),
    ("set", "read", "a"),
    ("set-full", "read", {"a": 1}),
    ("bank", "read", 7),
    ("bank", "read", {"0": "x"}),
    ("multi-register", "read", {"a": 1}),
    ("multi-register", "txn", [["append", "x", 1]]),
    ("multi-register", "txn", [["w", "x", 1], ["append", "x", 1]]),
    ("multi-register", "read", [1]),
    ("multi-register", "txn", [[]]),
    ("cas-register", "cas", "xy"),
    ("cas-register", "cas", 5),
    ("cas-register", "cas", None),
    ("cas-register", "cas", [1, 2, 3]),
    ("total-queue", "drain", 1),
    ("queue", "drain", "ab"),
    ("queue", "enqueue", None),
    ("total-queue", "enqueue", None),
    ("kv-append", "append", [1]),
    ("unique-ids", "generate", None),
    ("long-fork", "txn", 7),
]


@pytest.mark.parametrize(("model", "f", "value"), MISFITS)
def test_a_value_that_fits_no_operation_is_refused_with_its_line(
    tmp_path: Path, model: str, f: str, value: Any
) -> None:
    path = tmp_path / "history.jsonl"
    other = {"process": 0, "type": "ok", "f": "describe", "value": 7}
    bad = {"process": 1, "type": "ok", "f": f, "value": value}
    path.write_text(f"{json.dumps(other)}\n{json.dumps(bad)}\n")
    said = refusal(path, model)
    assert said.startswith(f"{path}, line 2: expected ")
    assert said.endswith(f" as value of {f}, found {json.dumps(value)}")


@pytest.mark.parametrize(("model", "f", "value"), [one for one in MISFITS if one[2] is not None])
def test_an_invocation_has_to_fit_as_well(tmp_path: Path, model: str, f: str, value: Any) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(json.dumps({"process": 1, "type": "invoke", "f": f, "value": value}) + "\n")
    assert f" as value of {f}, found " in refusal(path, model)


FITS: list[tuple[str, str, Any, Any]] = [
    ("counter", "add", 1, None),
    ("counter", "inc", None, None),
    ("counter", "read", None, None),
    ("set", "read", None, [1, "a"]),
    ("set-full", "read", None, [["r", "x", 1]]),
    ("bank", "read", None, {"0": 5, "1": None}),
    ("multi-register", "txn", [["r", "x", None], ["w", "y", [1]]], [["r", "x", 3], ["w", "y", 1]]),
    ("multi-register", "read", [["read", "x", None]], [["read", "x", 1]]),
    ("cas-register", "cas", [1, 2], None),
    ("cas-register", "cas", [["w", "x", 1], ["w", "x", 2]], [["w", "x", 1], ["w", "x", 2]]),
    ("total-queue", "drain", None, [1]),
    ("kv-append", "get", None, "a"),
    ("unique-ids", "generate", None, 0),
    ("long-fork", "read", [["r", 0, None], ["r", 1, None]], [["r", 0, 1], ["r", 1, None]]),
]


@pytest.mark.parametrize(("model", "f", "invoked", "answer"), FITS)
@pytest.mark.parametrize("key", [{}, {"key": "a"}])
def test_a_value_that_fits_is_let_in(
    tmp_path: Path, model: str, f: str, invoked: Any, answer: Any, key: dict[str, str]
) -> None:
    path = tmp_path / "history.jsonl"
    rows = [
        {"process": 0, "type": "invoke", "f": f, "value": invoked, **key},
        {"process": 0, "type": "ok", "f": f, "value": answer, **key},
        {"process": "nemesis", "type": "info", "f": f, "value": "x"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(sound_history(path, model, lean=False)) == 3


def with_offset(f: str, offset: float) -> Any:
    values = {
        "send": [["send", "x", [offset, 1]]],
        "poll": [["poll", {"x": [[offset, 1]]}]],
        "assign": {"x": offset},
        "end-offsets": {"high": {"x": offset}},
        "commit": {"group": "g", "generation": 1, "member": "m", "offsets": {"x": offset}},
        "transform": {"in": [["x", offset]], "out": []},
        "put": [["put", "x/a", [offset, 1]]],
        "get": [["get", "x/a", [offset, 1]]],
    }
    return values[f]


FS = ("send", "poll", "assign", "end-offsets", "commit", "transform", "put", "get")


@pytest.mark.parametrize(
    ("f", "offset"),
    [
        *product(FS, (2**63 - 1, -2, -7)),
        *product(("send", "put", "get"), (2**63, -(2**64), 0.5)),
    ],
)
def test_an_offset_that_no_log_has_is_refused(tmp_path: Path, f: str, offset: float) -> None:
    path = tmp_path / "history.jsonl"
    row = {"process": 0, "type": "ok", "f": f, "value": with_offset(f, offset)}
    path.write_text(json.dumps(row) + "\n")
    said = refusal(path, "kafka")
    assert said == f"{path}, line 1: expected offsets from 0 to {2**63 - 2}, found {offset}"


@pytest.mark.parametrize("f", FS)
def test_minus_one_is_an_offset_that_nobody_was_told(tmp_path: Path, f: str) -> None:
    path = tmp_path / "history.jsonl"
    row = {"process": 0, "type": "ok", "f": f, "value": with_offset(f, -1)}
    path.write_text(json.dumps(row) + "\n")
    assert len(sound_history(path, "kafka", lean=False)) == 1


def test_a_generation_that_no_group_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    owned = {"group": "g", "generation": -2, "keys": ["x"]}
    row = {"process": 0, "type": "ok", "f": "assigned", "value": owned}
    path.write_text(json.dumps(row) + "\n")
    assert "expected generations from 0 to " in refusal(path, "kafka")


ENDS: dict[str, Any] = {"low": {"x": 0}, "high": {"x": 1}, "stable": {"x": 1}}


@pytest.mark.parametrize(
    ("type_", "value", "is_refused"),
    [
        ("ok", ENDS, False),
        ("fail", ["x"], False),
        ("info", ["x"], False),
        ("ok", ["x"], True),
        ("fail", [["x"]], True),
    ],
)
def test_only_an_answer_to_end_offsets_has_to_tell_ends(
    tmp_path: Path, type_: str, value: Any, is_refused: bool
) -> None:
    path = tmp_path / "history.jsonl"
    asked = {"process": 1, "type": "invoke", "f": "end-offsets", "value": ["x"]}
    answer = {**asked, "type": type_, "value": value}
    path.write_text("".join(json.dumps(row) + "\n" for row in (GOOD, asked, answer)))
    if is_refused:
        assert refusal(path, "kafka").startswith(f'{path}, line 3: expected {{"low": ')
    else:
        assert len(sound_history(path, "kafka", lean=False)) == 3
