"""The error map: what the reference says, what the code does, and the rules both obey."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from harness.client.base import Acks
from harness.client.error_names import ERROR_NAMES
from harness.client.outcomes import (
    ADMIN,
    ANY,
    BEFORE_SENDING,
    PRODUCE,
    Mode,
    Row,
    of_admin,
    of_produce,
)

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "errors.md"
ALL_ACKS: tuple[Acks, ...] = ("0", "1", "all")
MODES = [
    Mode(acks, idempotence, retries)
    for acks, idempotence, retries in product(ALL_ACKS, (False, True), (False, True))
]
ERRORS = [*ERROR_NAMES.values(), *(row.error for row in PRODUCE), "_SOMETHING_NEW"]


def rows_of(heading: str) -> list[list[str]]:
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def in_words(row: Row) -> list[str]:
    def switch(states: tuple[bool, ...]) -> str:
        return "any" if len(states) == 2 else "on" if states[0] else "off"

    acks = "any" if len(row.acks) == 3 else ", ".join(row.acks)
    return [row.error, acks, switch(row.idempotence), switch(row.retries), row.outcome]


def test_the_reference_and_the_table_are_one_for_sends() -> None:
    assert [cells[:5] for cells in rows_of("Sends")] == [in_words(row) for row in PRODUCE]


def test_the_reference_and_the_table_are_one_for_topics() -> None:
    told = [cells[:2] for cells in rows_of("Topics and their settings")]
    assert told == [list(row) for row in ADMIN]


def test_every_row_has_its_reason() -> None:
    for cells in (*rows_of("Sends"), *rows_of("Topics and their settings")):
        assert re.fullmatch(r"[A-Z`].*\.", cells[-1]), cells


def test_every_name_is_kafkas_or_the_librarys_own() -> None:
    for error in {row.error for row in PRODUCE} | {error for error, _ in ADMIN}:
        assert error in ERROR_NAMES.values() or error[0] in "(_", error


@pytest.mark.parametrize("mode", MODES)
def test_where_a_library_may_send_again_only_the_unsent_failed(mode: Mode) -> None:
    assert of_produce("MESSAGE_TOO_LARGE", mode, harmless=True) == "fail"
    if mode.retries or mode.idempotence or mode.acks != "1":
        assert "fail" not in {of_produce(error, mode) for error in ERRORS if error[0] != "("}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "error",
    [
        "NOT_LEADER_OR_FOLLOWER",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "REQUEST_TIMED_OUT",
        "_MSG_TIMED_OUT",
        "_TRANSPORT",
        "_SOMETHING_NEW",
    ],
)
def test_what_may_have_been_appended_never_fails(mode: Mode, error: str) -> None:
    assert of_produce(error, mode) == "info"


def test_only_a_copy_that_is_known_is_ok() -> None:
    safe = Mode("all", idempotence=True, retries=True)
    assert [error for error in ERROR_NAMES.values() if of_produce(error, safe) == "ok"] == [
        "DUPLICATE_SEQUENCE_NUMBER"
    ]


def test_a_refusal_of_the_only_try_failed() -> None:
    once = Mode("1", idempotence=False, retries=False)
    assert of_produce("MESSAGE_TOO_LARGE", once) == "fail"
    assert of_produce("INVALID_RECORD", once) == "fail"
    assert of_produce("NOT_LEADER_OR_FOLLOWER", once) == "info"


def test_the_last_row_takes_what_is_left_and_the_first_row_wins() -> None:
    assert PRODUCE[-1].error == ANY
    assert ADMIN[-1][0] == ANY
    assert of_admin("_TIMED_OUT") == "info"
    assert of_admin("TOPIC_ALREADY_EXISTS") == "info"
    assert of_admin("TOPIC_ALREADY_EXISTS", harmless=True) == "fail"
    assert of_admin("INVALID_CONFIG") == "fail"
    assert len({(row.error, row.acks) for row in PRODUCE}) == len(PRODUCE)
    assert PRODUCE[0].error == ADMIN[0][0] == BEFORE_SENDING
