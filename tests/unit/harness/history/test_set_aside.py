"""Text histories of which some lines are damaged: those are set aside, the rest is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.history.edn_reader import read_edn
from harness.history.errors import HistoryError
from harness.history.jsonl import read_jsonl

JSONL = """{"index": 0, "process": 0, "type": "invoke", "f": "send", "value": [["send", "x", 1]]}
{"index": 1, "process": 0, "type": "ok", "f": "se
{"index": 2, "process": 1, "type": "strange", "f": "poll"}

{"index": 3, "process": 1, "type": "invoke", "f": "poll", "value": [["poll"]]}
"""
EDN = """{:index 0, :process 0, :type :invoke, :f :send, :value [[:send "x" 1]]}
{:index 1, :process 0, :type :ok, :f :send, :val
{:index 2, :process 1, :type :strange, :f :poll}
{:index 3, :process 1, :type :invoke, :f :poll ))}
{:index 4, :process 1, :type :invoke, :f "po
{:index 5, :process 1, :type :invoke, :f :poll, :value [[:poll]]}
"""


def read(path: Path, text: str) -> tuple[list[int], list[tuple[int, str]]]:
    path.write_text(text)
    aside: list[tuple[int, str]] = []
    reader = read_jsonl if path.suffix == ".jsonl" else read_edn
    tables = reader(path, lambda line, why, _: aside.append((line, why)))
    with pytest.raises(HistoryError):
        reader(path)
    return tables.ops["index"].to_pylist(), aside


def test_lines_of_json(tmp_path: Path) -> None:
    kept, aside = read(tmp_path / "x.jsonl", JSONL)
    assert kept == [0, 3]
    assert [line for line, _ in aside] == [2, 3]
    assert "strange" in aside[1][1]


def test_forms_of_edn(tmp_path: Path) -> None:
    kept, aside = read(tmp_path / "x.edn", EDN)
    assert kept == [0, 5]
    assert [line for line, _ in aside] == [2, 3, 4, 5]
    assert "the next one" in aside[0][1]
    assert "strange" in aside[1][1]


def test_a_vector_around_all_forms_stays_open(tmp_path: Path) -> None:
    lines = EDN.splitlines()
    text = "[" + lines[0] + "\n " + lines[2] + "\n " + lines[3] + "\n " + lines[5] + "]\n"
    kept, aside = read(tmp_path / "x.edn", text)
    assert kept == [0, 5]
    assert [line for line, _ in aside] == [2, 3]


def test_an_end_that_is_missing_is_one_line(tmp_path: Path) -> None:
    kept, aside = read(tmp_path / "x.edn", EDN.splitlines()[0] + "\n" + EDN.splitlines()[1])
    assert kept == [0]
    assert [line for line, _ in aside] == [2]
