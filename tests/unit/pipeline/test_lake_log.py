"""Entries of a lake's log, as text."""

from __future__ import annotations

import json

import pytest

from pipeline.lake_log import Entry, entry_of
from pipeline.schema import VERSION

WHOLE = {
    "version": VERSION,
    "by": "ingest",
    "adds": ["a"],
    "removes": [],
    "hides": [["*", "b", "r"]],
}


def test_an_entry_is_read_back() -> None:
    expected = Entry(by="ingest", adds=("a",), hides=(("*", "b", "r"),))
    assert entry_of(json.dumps(WHOLE)) == expected


def test_an_entry_of_a_newer_version_tells_its_version_whatever_else_it_has() -> None:
    assert entry_of(json.dumps({"version": VERSION + 1})).version == VERSION + 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("half of an ent", "Expecting value"),
        ("[]", "indices must be"),
        ("{}", "it lacks 'version'"),
        (json.dumps(WHOLE | {"version": "1"}), "version is '1'"),
        (json.dumps({key: WHOLE[key] for key in WHOLE if key != "hides"}), "it lacks 'hides'"),
        (json.dumps(WHOLE | {"hides": [["*", "b"]]}), "not enough values"),
        (json.dumps(WHOLE | {"adds": 7}), "not iterable"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_damaged_entry_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        entry_of(text)
