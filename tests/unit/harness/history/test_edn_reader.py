"""Jepsen's EDN, read: its words, its records, its one big vector, and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import edn_format  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.history.edn import write_edn
from harness.history.edn_reader import Forms
from harness.history.errors import HistoryError
from harness.history.history import History
from harness.history.op import NEMESIS, Op

LINE = (
    "{:type :invoke, :f :txn, :value [[:append 3 1] [:r 4 nil]], :process 0, :time 12, :index 0}\n"
)


def loaded(directory: Path, text: str) -> list[Op]:
    path = directory / "history.edn"
    path.write_text(text)
    return list(History.load(path))


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        f"[{LINE}]",
        f"({LINE})",
        f"#jepsen.history.Op{LINE}",
        f"; a history\n[#jepsen.history.Op {LINE}]",
        LINE.replace(", ", "\n  "),
        f"#_ {{:type :ok}} {LINE}",
        f"#_ #foo {{:type :ok}} {LINE}",
        f"#_ #_ 1 2 {LINE}",
        f"\ufeff{LINE}",
        LINE.replace("4 nil", "4 #_ 5 #foo nil"),
    ],
)
def test_one_operation_in_every_form(tmp_path: Path, text: str) -> None:
    expected = [["append", 3, 1], ["r", 4, None]]
    assert loaded(tmp_path, text) == [Op(0, 12, 0, "invoke", "txn", expected)]


def test_the_nemesis_and_what_nobody_numbered(tmp_path: Path) -> None:
    ops = loaded(tmp_path, '{:process :nemesis :type :info :f :kill :value "n1"}\n' * 2)
    assert [(op.index, op.process, op.value) for op in ops] == [
        (0, NEMESIS, "n1"),
        (1, NEMESIS, "n1"),
    ]


def test_keys_of_a_poll_are_what_they_are(tmp_path: Path) -> None:
    (op,) = loaded(
        tmp_path, '{:process 1 :type :ok :f :poll :value [[:poll {11 [[0 5]] "a" [[1 7]]}]]}'
    )
    assert op.value == [["poll", {11: [[0, 5]], "a": [[1, 7]]}]]


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    ops = [
        Op(0, 5, 0, "invoke", "send", [["send", "t-0", 'a "quoted"\n text \\ of é']]),
        Op(1, 9, 0, "ok", "send", [["send", "t-0", [0, 'a "quoted"\n text \\ of é']]], None, "n1"),
        Op(2, 9, NEMESIS, "info", "partition", {"grudge": {"n1": ["n2"]}}),
        Op(3, 10, 1, "ok", "end-offsets", {"low": {"t-0": 0}, "high": {"t-0": 1}}),
    ]
    write_edn(ops, tmp_path / "history.edn")
    assert list(History.load(tmp_path / "history.edn")) == ops


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("{:type :ok :process 0 :f :read\n", "line 1", "expected } for line 1"),
        ("\n\n{:type :ok]\n", "line 3", "expected no ] here"),
        ("{:type :ok :process}\n", "line 1", "expected a value for each key"),
        ('{:type :ok :value "x\n', "line 1", "expected the end of a text"),
        ("{:type :maybe :process 0}\n", "line 1", "expected a type of invoke, ok, fail, info"),
        (f"{LINE}17\n", "line 2", "expected an operation"),
        ("{:type :ok :process 0 :value " + "9" * 5000 + "}", "line 1", "found one of 5000 digits"),
        ("{:type :ok :process 0 :value \\foo}", "line 1", "expected EDN, found"),
        ("{:type :ok :process 0 :value ^{:a 1} [1]}", "line 1", "expected EDN, found"),
        ('{:type :ok :process 0 :value "\\q"}', "line 1", "an escape that EDN knows, found \\q"),
        (f"{LINE}#_", "line 2", "expected a form after #_, found none"),
        ("{:type :ok :process 0 :value [#foo]}", "line 1", "expected a form after #foo, found"),
        ("{:type :ok :process 0 :type :fail}\n", "line 1", 'once, found "type" twice'),
        ('{:type :ok :process 0 :value {:a 1\n"a" 2}}\n', "line 2", 'once, found "a" twice'),
        (f"{LINE}{{:type :ok :process 1.5}}", "line 2", "expected an integer"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(
    tmp_path: Path, text: str, where: str, what: str
) -> None:
    with pytest.raises(HistoryError) as raised:
        loaded(tmp_path, text)
    assert where in str(raised.value)
    assert what in str(raised.value)


def plain(value: Any) -> Any:
    """What edn_format read, with words as texts and sets as lists, as ours has them."""
    if isinstance(value, edn_format.Keyword | edn_format.Symbol):
        return value.name
    if isinstance(value, edn_format.ImmutableList | list | tuple | set | frozenset):
        items = [plain(item) for item in value]
        return sorted(items) if isinstance(value, set | frozenset) else items
    if isinstance(value, edn_format.ImmutableDict | dict):
        return {plain(key): plain(part) for key, part in value.items()}
    return value


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(exclude_categories=["C"]))
    | st.sampled_from([edn_format.Keyword("a"), edn_format.Keyword("b-c/d!"), 'x\\y"z\n\t'])
)
words = st.integers() | st.text(st.sampled_from("abc"), min_size=1)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(words, inner), max_leaves=12
)


@given(st.lists(values, max_size=4))
def test_the_reader_agrees_with_another(forms: list[Any]) -> None:
    text = edn_format.dumps(forms)
    reader = Forms()
    ours = [form for line in f"[0 {text}]".splitlines(keepends=True) for form in reader.feed(line)]
    reader.end()
    assert ours[1] == plain(edn_format.loads(text))
