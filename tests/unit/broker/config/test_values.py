"""Texts become typed values, or a sentence that says what is wrong."""

import pytest

from broker.config.property import Kind, at_least, between, list_of, one_of, used
from broker.config.values import WrongValueError, parse_value, value_text


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Kind.BOOLEAN, "TRUE", True),
        (Kind.INT, " -1 ", -1),
        (Kind.LONG, "9223372036854775807", 2**63 - 1),
        (Kind.DOUBLE, "0.5", 0.5),
        (Kind.LIST, "a, b", ("a", "b")),
        (Kind.LIST, "", ()),
        (Kind.STRING, "x", "x"),
    ],
)
def test_a_text_of_its_kind_is_taken(kind: Kind, text: str, expected: object) -> None:
    assert parse_value(used("p", kind, None, ""), text) == expected


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.BOOLEAN, "yes"),
        (Kind.INT, "1_000"),
        (Kind.INT, "1e3"),
        (Kind.INT, "2147483648"),
        (Kind.INT, "9" * 5000),
        (Kind.INT, ""),
        (Kind.INT, "٣"),
        (Kind.SHORT, "32768"),
        (Kind.LONG, "9223372036854775808"),
        (Kind.DOUBLE, "half"),
        (Kind.DOUBLE, "nan"),
    ],
)
def test_a_text_of_another_kind_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(WrongValueError):
        parse_value(used("p", kind, None, ""), text)


def test_a_refusal_says_what_is_allowed() -> None:
    with pytest.raises(WrongValueError, match="'0' is not allowed: at least 1"):
        parse_value(used("p", Kind.INT, 1, "", at_least(1)), "0")
    with pytest.raises(WrongValueError, match="1 to 9, or -1"):
        parse_value(used("p", Kind.INT, 1, "", between(1, 9, -1)), "10")
    with pytest.raises(WrongValueError, match="one of a, b"):
        parse_value(used("p", Kind.STRING, "a", "", one_of("a", "b")), "c")
    with pytest.raises(WrongValueError, match="one of a, b"):
        parse_value(used("p", Kind.LIST, (), "", list_of("a", "b")), "a,a")


def test_a_secret_is_never_repeated() -> None:
    known = used("p", Kind.PASSWORD, None, "", one_of("x"))
    with pytest.raises(WrongValueError) as refused:
        parse_value(known, "hunter2")
    assert "hunter2" not in str(refused.value)


def test_values_are_written_as_kafka_writes_them() -> None:
    written = [value_text(each) for each in (None, True, False, 5, 0.5, ("a", "b"), "x")]
    assert written == [None, "true", "false", "5", "0.5", "a,b", "x"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "0.5"),
        (0.001, "0.001"),
        (0.00025, "2.5E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (0.0, "0.0"),
    ],
)
def test_a_double_is_written_as_java_writes_it(number: float, text: str) -> None:
    assert value_text(number) == text
