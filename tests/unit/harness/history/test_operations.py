"""What is declared of operations is what the history, its page and its reader know."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.history import kinds
from harness.history.micro_ops import _BY_NAME
from harness.history.operations import (
    MICRO_OPERATIONS,
    OPERATIONS,
    WRITING_KINDS,
    Writes,
    is_write,
    named,
)

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "history.md"


def test_every_micro_operation_can_be_taken_apart() -> None:
    assert list(MICRO_OPERATIONS) == list(_BY_NAME)


def test_every_operation_is_on_the_page() -> None:
    words = set(re.findall(r"`([a-z-]+)`", PAGE.read_text()))
    assert set(OPERATIONS) <= words


def test_no_kind_of_element_stands_for_two() -> None:
    each = [kind for declared in MICRO_OPERATIONS.values() for kind in declared.kinds]
    assert len(set(each)) == len(each)
    assert {kinds.SENT, kinds.APPEND, kinds.PUT_AT} <= set(WRITING_KINDS)
    assert kinds.RECORD not in WRITING_KINDS


@pytest.mark.parametrize(
    ("f", "value", "writes"),
    [
        ("send", [["send", "t-0", 1]], True),
        ("txn", [["r", "t-0", None]], False),
        ("txn", [["r", "t-0", None], ["append", "t-0", 1]], True),
        ("poll", [["poll"]], False),
        ("delete", {"topic": "t"}, True),
        ("of others", None, False),
    ],
)
def test_what_writes(f: str, value: Any, writes: bool) -> None:
    assert is_write(f, value) is writes


def test_those_that_always_write() -> None:
    assert set(named(Writes.ALWAYS)) == {
        "send",
        "put",
        "create",
        "create-partitions",
        "alter",
        "delete",
        "transform",
    }
