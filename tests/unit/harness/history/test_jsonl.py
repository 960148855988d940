"""Histories of others are read as they are meant, or refused with file, line and expectation."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from harness.history.errors import HistoryError
from harness.history.history import History
from harness.history.jsonl import write_jsonl
from harness.history.op import NEMESIS, Op


def read(directory: Path, *lines: str) -> list[Op]:
    path = directory / "h.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return list(History.load(path))


def test_fields_that_are_left_out(tmp_path: Path) -> None:
    ops = read(
        tmp_path,
        '{"process": 0, "type": "invoke", "value": [["append", 3, 1]]}',
        "",
        '{"process": 0, "type": "ok", "f": "read", "time": 5, "index": 7}',
        '{"process": "nemesis", "type": "info", "f": "kill", "error": [1, "x"], "node": null}',
    )
    assert ops == [
        Op(0, 0, 0, "invoke", "txn", [["append", 3, 1]]),
        Op(7, 5, 0, "ok", "read"),
        Op(8, 5, NEMESIS, "info", "kill", None, '[1,"x"]'),
    ]


def test_the_order_of_the_lines_is_the_order(tmp_path: Path) -> None:
    lines = ('{"process": 0, "type": "ok", "time": 9}', '{"process": 1, "type": "ok", "time": 3}')
    assert [op.time_ns for op in read(tmp_path, *lines)] == [9, 3]


def test_further_fields_are_written_back(tmp_path: Path) -> None:
    line = (
        '{"index":0,"time":0,"process":0,"type":"ok","f":"append","value":"x","key":"7","log":[1]}'
    )
    ops = read(tmp_path, line)
    assert ops[0].extra == {"key": "7", "log": [1]}
    write_jsonl(ops, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == line + "\n"


POLL = '{"process": 0, "type": "ok", "f": "poll", "value": [["poll", {"11": [[0, 1]], "x": []}]]}'


@pytest.mark.parametrize(
    ("sent", "meant"), [(None, 11), ("11", 11), ('"11"', "11"), ('"12"', 11), ('"x"', 11)]
)
def test_a_key_of_a_map_is_the_key_of_the_sends(
    tmp_path: Path, sent: str | None, meant: Any
) -> None:
    lines = [POLL]
    if sent is not None:
        lines.append(f'{{"process": 0, "type": "ok", "f": "send", "value": [["send", {sent}, 1]]}}')
    assert read(tmp_path, *lines)[0].value == [["poll", {meant: [[0, 1]], "x": []}]]


def test_both_keys_side_by_side(tmp_path: Path) -> None:
    sends = '{"process": 0, "type": "ok", "value": [["send", 11, 1], ["send", "11", 1]]}'
    poll, send = read(tmp_path, POLL, sends)
    assert poll.value == [["poll", {11: [[0, 1]], "x": []}]]
    assert send.value == [["send", 11, 1], ["send", "11", 1]]


def test_keys_of_every_map(tmp_path: Path) -> None:
    values = {
        "assign": '{"1": 0}',
        "commit": '{"group": "g", "generation": 1, "member": null, "offsets": {"1": 5}}',
        "end-offsets": '{"high": {"1": 5}}',
    }
    ops = read(
        tmp_path,
        *(f'{{"process":0,"type":"ok","f":"{f}","value":{value}}}' for f, value in values.items()),
        '{"process": 0, "type": "ok", "f": "create", "value": {"1": 0}}',
    )
    assert ops[0].value == {1: 0}
    assert ops[1].value["offsets"] == {1: 5}
    assert ops[2].value == {"high": {1: 5}}
    assert ops[3].value == {"1": 0}


GOOD = '{"process": 0, "type": "ok", "index": 4}'


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "expected one operation as JSON"),
        ("[1, 2]", "expected an operation, "),
        ("5", "found 5"),
        ('{"process": 0}', "expected a type of invoke, ok, fail, info, found none"),
        ('{"process": 0, "type": "okay"}', 'found "okay"'),
        ('{"process": 0, "type": ["ok"]}', 'found ["ok"]'),
        ('{"type": "ok"}', '0 to 2147483647 or "nemesis" as process, found none'),
        ('{"type": "ok", "process": "p1"}', 'found "p1"'),
        ('{"type": "ok", "process": true}', "found true"),
        ('{"type": "ok", "process": -2}', "found -2"),
        ('{"type": "ok", "process": 2147483648}', "found 2147483648"),
        ('{"type": "ok", "process": 0, "time": 1.5}', "expected an integer as time, found 1.5"),
        ('{"type": "ok", "process": 0, "time": 9223372036854775808}', "to be at most"),
        ('{"type": "ok", "process": 0, "index": 4}', "expected index to be at least 5, found 4"),
        ('{"type": "ok", "process": 0, "index": "5"}', 'expected an integer as index, found "5"'),
        ('{"type": "ok", "process": 0, "f": 5}', "expected a text as f, found 5"),
        ('{"type": "ok", "process": 0, "node": 5}', "expected a text as node, found 5"),
        (
            '{"type": "ok", "process": 0, "type": "fail"}',
            'key of an object once, found "type" twice',
        ),
        ('{"type": "ok", "process": 0, "value": [{"a": 1, "b": 2, "a": 1}]}', 'found "a" twice'),
        ("[" * 100_000, "lists within lists"),
        ('{"type": "ok", "process": ' + "9" * 5000 + "}", "expected one operation as JSON"),
        ('{"type": "ok", "process": "' + "x" * 5000 + '"}', "xxx..."),
    ],
)
def test_a_line_that_is_wrong(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(HistoryError) as told:
        read(tmp_path, GOOD, line)
    assert str(told.value).startswith(f"{tmp_path}/h.jsonl, line 2: ")
    assert sentence in str(told.value)
    assert len(str(told.value)) < 400


@pytest.mark.parametrize("depth", [*range(100, 1000, 50)])
def test_lists_within_lists_are_a_value_or_an_error(tmp_path: Path, depth: int) -> None:
    value = "[" * depth + "]" * depth
    line = f'{{"process": 0, "type": "ok", "f": "x", "value": {value}}}'
    # How deep is too deep is Python's to say; that it is told, ours.
    with suppress(HistoryError):
        assert str(read(tmp_path, line)[0].value).replace(" ", "") == value


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(b'{"process": "\xff"}\n')
    with pytest.raises(
        HistoryError, match=r"line 1: expected UTF-8, found other bytes at column 14"
    ):
        History.load(path)


def test_a_mark_of_the_order_of_bytes_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "h.jsonl").write_text(GOOD + "\n", encoding="utf-8-sig")
    assert len(History.load(tmp_path / "h.jsonl")) == 1


def test_after_the_last_index_there_is_none(tmp_path: Path) -> None:
    last = '{"type": "ok", "process": 0, "index": 9223372036854775807}'
    with pytest.raises(HistoryError, match=r"line 2: expected index to be at most 9223372036854"):
        read(tmp_path, last, '{"type": "ok", "process": 0}')


def test_an_empty_file_has_no_operations(tmp_path: Path) -> None:
    assert read(tmp_path) == []
