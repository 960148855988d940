"""Expressions that RE2/J refuses are refused for the same reason.

The reasons were printed by RE2/J 1.8, which Apache Kafka 4.3 uses.
"""

from __future__ import annotations

import pytest

from broker.groups.consumer.topic_regex.automaton import SIZE_MAX, TopicPattern
from broker.groups.consumer.topic_regex.errors import RegexSyntaxError
from broker.groups.consumer.topic_regex.syntax import DEPTH_MAX

REFUSED = {
    "(": "missing closing )",
    "(?:": "missing closing )",
    "(?<n>a": "missing closing )",
    "[": "missing closing ]",
    "[]": "missing closing ]",
    "[a-": "missing closing ]",
    "[z-a]": "invalid character class range",
    "[[:foo:]]": "invalid character class range",
    r"\p{Foo}": "invalid character class range",
    r"\p{latin}": "invalid character class range",
    r"\p{": "invalid character class range",
    r"\p": "invalid character class range",
    "*a": "missing argument to repetition operator",
    "(*a)": "missing argument to repetition operator",
    "|*": "missing argument to repetition operator",
    r"\Q\E*": "missing argument to repetition operator",
    "a**": "invalid nested repetition operator",
    "a*+": "invalid nested repetition operator",
    "a*??": "invalid nested repetition operator",
    "a{2}{3}": "invalid nested repetition operator",
    "{+": "invalid nested repetition operator",
    "a{1001}": "invalid repeat count",
    "a{2,1}": "invalid repeat count",
    "a{99999999999}": "invalid repeat count",
    r"\1": "invalid escape sequence",
    r"(a)\1": "invalid escape sequence",
    r"\8": "invalid escape sequence",
    r"\C": "invalid escape sequence",
    r"\Z": "invalid escape sequence",
    r"\x4": "invalid escape sequence",
    r"\x{110000}": "invalid escape sequence",
    r"[a-\d]": "invalid escape sequence",
    "\\": "trailing backslash at end of expression",
    "(?=a)": "invalid or unsupported Perl syntax",
    "(?!a)": "invalid or unsupported Perl syntax",
    "(?>a)": "invalid or unsupported Perl syntax",
    "(?P=n)": "invalid or unsupported Perl syntax",
    "(?x)a": "invalid or unsupported Perl syntax",
    "(?-)a": "invalid or unsupported Perl syntax",
    "(?i--s)a": "invalid or unsupported Perl syntax",
    "(?i": "invalid or unsupported Perl syntax",
    "(?": "invalid or unsupported Perl syntax",
    "(?<=a)b": "invalid named capture",
    "(?P<>a)": "invalid named capture",
    "(?P<n-a>a)": "invalid named capture",
    "(?P<n": "invalid named capture",
    "(?P<n>a)(?<n>b)": "duplicate capture group name",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_a_wrong_expression_is_refused_as_by_re2j(expression: str) -> None:
    with pytest.raises(RegexSyntaxError) as refused:
        TopicPattern(expression)
    assert str(refused.value) == REFUSED[expression]


@pytest.mark.parametrize("expression", [")", "a)", "(a))"])
def test_a_stray_parenthesis_is_refused(expression: str) -> None:
    with pytest.raises(RegexSyntaxError, match="unexpected"):
        TopicPattern(expression)


def test_an_expression_that_expands_too_far_is_refused() -> None:
    TopicPattern(f"a{{{1000}}}" * 4)
    with pytest.raises(RegexSyntaxError, match=f"more than {SIZE_MAX} states"):
        TopicPattern("(a{100}){100}")


def test_parentheses_do_not_nest_without_end() -> None:
    TopicPattern("(" * DEPTH_MAX + "a" + ")" * DEPTH_MAX)
    with pytest.raises(RegexSyntaxError, match="nests too deeply"):
        TopicPattern("(" * 4_000 + "a" + ")" * 4_000)


def test_a_long_expression_is_refused_before_it_is_parsed() -> None:
    assert TopicPattern("[abc]" * 1_600).matches("abc") is False
    with pytest.raises(RegexSyntaxError, match="more than 8192 characters"):
        TopicPattern("(" * 8_193)
