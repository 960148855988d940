"""The .properties format, by Java's rules."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.properties import PropertiesSyntaxError, parse_properties


def values(text: str) -> dict[str, str]:
    return {name: entry.value for name, entry in parse_properties(text).items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a: 1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("  a   =   1 2 ", {"a": "1 2 "}),
        ("a", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("# a=1\n! b=2\n\n \nc=3", {"c": "3"}),
        ("a=1\\\n   2", {"a": "12"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a=x\\ty\\u00e9\\z", {"a": "x\tyéz"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=x\x85y", {"a": "x\x85y"}),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    assert values(text) == expected


def test_an_entry_knows_the_line_it_begins_on() -> None:
    entries = parse_properties("# first\na=1\\\n2\n\nb=3")
    assert (entries["a"].line, entries["b"].line) == (2, 5)


def test_a_broken_unicode_escape_is_refused_with_its_line() -> None:
    with pytest.raises(PropertiesSyntaxError, match=r"line 2: \\u00g0 is not four"):
        parse_properties("a=1\nb=\\u00g0")


@given(st.text())
def test_any_text_is_read_or_refused_with_its_own_error(text: str) -> None:
    with suppress(PropertiesSyntaxError):
        parse_properties(text)
