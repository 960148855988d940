"""EDN as Jepsen's tools read it."""

from pathlib import Path
from typing import Any

import pytest

from harness.history.edn import write_edn
from harness.history.op import NEMESIS, Op


def written(directory: Path, op: Op) -> str:
    write_edn([op], directory / "h.edn")
    return (directory / "h.edn").read_text()


@pytest.mark.parametrize(
    ("f", "value", "expected"),
    [
        ("txn", [["append", 3, 1], ["r", 4, None]], "[[:append 3 1] [:r 4 nil]]"),
        ("txn", [["r", "x", [1, 2]], ["r", "y", []]], '[[:r "x" [1 2]] [:r "y" []]]'),
        ("send", [["send", 11, [0, "send"]]], '[[:send 11 [0 "send"]]]'),
        ("poll", [["poll", {11: [[0, 1]], 12: []}]], "[[:poll {11 [[0 1]], 12 []}]]"),
        ("poll", [["poll"]], "[[:poll]]"),
        ("assign", ["t-0"], '["t-0"]'),
        ("assign", {"t-0": 5}, '{"t-0" 5}'),
        ("end-offsets", {"high": {"t-0": 5}}, '{:high {"t-0" 5}}'),
        ("cas", [1, 2], "[1 2]"),
        ("read", True, "true"),
        ("read", 1 << 70, "1180591620717411303424N"),
        ("read", 0.5, "0.5"),
        ("read", float("nan"), "##NaN"),
        ("read", float("-inf"), "##-Inf"),
        ("read", 'a "b"\n', '"a \\"b\\"\\n"'),
    ],
)
def test_a_value(tmp_path: Path, f: str, value: Any, expected: str) -> None:
    op = Op(3, 12, 0, "ok", f, value)
    head = f"{{:index 3, :time 12, :process 0, :type :ok, :f :{f}, :value "
    assert written(tmp_path, op) == head + expected + "}\n"


def test_the_other_fields(tmp_path: Path) -> None:
    op = Op(0, 1, NEMESIS, "info", "kill", {"nodes": ["n1"]}, "E: x", "n1", {"poll-ms": 5})
    assert written(tmp_path, op) == (
        '{:index 0, :time 1, :process :nemesis, :type :info, :f :kill, :value {:nodes ["n1"]}, '
        ':error "E: x", :node "n1", :poll-ms 5}\n'
    )


def test_a_word_that_is_no_keyword_is_a_text(tmp_path: Path) -> None:
    assert ':f "two words"' in written(tmp_path, Op(0, 1, 0, "info", "two words"))


def test_what_edn_cannot_tell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        written(tmp_path, Op(0, 1, 0, "ok", "read", {1, 2}))
