"""Expressions match the names that they match in RE2/J, and in Python where both agree."""

from __future__ import annotations

import random
import re

import pytest

from broker.groups.consumer.topic_regex.automaton import TopicPattern

# Printed by RE2/J 1.8 with `matches()`, for these names.
NAMES = "a k K s S A b ab aa aaa aB 1 - _ . a-b".split()
MATCHED = {
    "a": "a",
    "a*": "a aa aaa",
    "a*?": "a aa aaa",
    "a{2}": "aa",
    "a{1,2}": "a aa",
    "a{2,}": "aa aaa",
    "a{,3}": "",
    "a{0,0}b": "b",
    "a|b": "a b",
    "a||b": "a b",
    ".": "a k K s S A b 1 - _ .",
    "[^]a]": "k K s S A b 1 - _ .",
    "[]a]": "a",
    "[a-]": "a -",
    r"[a\-z]": "a -",
    r"[\d-z]": "1 -",
    "[[:alpha:]]": "a k K s S A b",
    "[[:^alpha:]]": "1 - _ .",
    "[a-c[:digit:]]": "a b 1",
    "[[:word:]]": "a k K s S A b 1 _",
    r"\pL": "a k K s S A b",
    r"\p{^Lu}": "a k s b 1 - _ .",
    r"\PN": "a k K s S A b - _ .",
    r"\p{Greek}": "",
    r"\p{Latin}": "a k K s S A b",
    r"\p{Common}": "1 - _ .",
    r"[^\p{L}]": "1 - _ .",
    r"\Qab\E+": "ab",
    r"\x41": "A",
    r"\x{41}": "A",
    r"\-": "-",
    r"\141": "a",
    "(?i)a": "a A",
    r"(?i)\x{212a}": "k K",
    r"(?i)\x{17f}": "s S",
    "(?i)[^k]": "a s S A b 1 - _ .",
    r"(?i)\p{Lu}": "a k K s S A b",
    r"(?i)[\x{2100}-\x{2200}]": "k K",
    "(?i)a|b(?-i)": "a A b",
    "a(?i)b": "ab aB",
    "(?i:a)B": "aB",
    "(?P<n>a)": "a",
    "(?<n>a)": "a",
    "^a$": "a",
    "(?m)^a$": "a",
    r"\Aa\z": "a",
    "x*^a": "a",
    "a$b": "",
    r"\ba\b": "a",
    r"a\Bb": "ab",
    r"a\b-\bb": "a-b",
    r"\w-\w": "a-b",
    r"\W": "- .",
    r"\S": "a k K s S A b 1 - _ .",
    r"\s": "",
    "()": "",
    "(a|aa)+": "a aa aaa",
    "(a*)*": "a aa aaa",
    "é": "",
}


@pytest.mark.parametrize("expression", MATCHED)
def test_an_expression_matches_what_it_matches_in_re2j(expression: str) -> None:
    pattern = TopicPattern(expression)
    assert [name for name in NAMES if pattern.matches(name)] == MATCHED[expression].split()


def test_the_whole_name_has_to_match() -> None:
    pattern = TopicPattern("orders-[0-9]+")
    assert pattern.matches("orders-17")
    assert not pattern.matches("orders-17-dead")
    assert not pattern.matches("my-orders-17")


def test_no_expression_takes_exponential_time() -> None:
    """Python's own `re` would take longer than the universe exists."""
    pattern = TopicPattern("(a+)+b")
    assert not pattern.matches("a" * 249)
    assert pattern.work < 10_000


def test_what_is_remembered_is_bounded() -> None:
    """`.*a.{12}` has 2**13 sets of states: they are forgotten, and the answers stay right."""
    pattern, python = TopicPattern(".*a.{12}"), re.compile(".*a.{12}")
    draw = random.Random(12)
    for _ in range(600):
        name = "".join(draw.choices("ab", k=40))
        assert pattern.matches(name) == bool(python.fullmatch(name))
    assert len(pattern._sets) < 4_000


def test_random_expressions_match_as_in_python() -> None:
    draw = random.Random(17)
    pieces = ["a", "b", "1", "-", r"\.", ".", "[ab]", "[^a]", r"\d", r"\w", r"\b", "^", "$", "ab"]
    names = ["".join(draw.choices("ab1-._", k=draw.randrange(1, 7))) for _ in range(200)]

    def expression(depth: int) -> str:
        parts = []
        for _ in range(draw.randrange(1, 4)):
            part = (
                f"({expression(depth - 1)})"
                if depth and draw.random() < 0.4
                else draw.choice(pieces)
            )
            if part not in ("^", "$", r"\b"):
                part += draw.choice(["", "", "", "*", "+", "?", "{2}", "{1,3}"])
            parts.append(part)
        return "".join(parts) + (
            f"|{expression(depth - 1)}" if depth and draw.random() < 0.2 else ""
        )

    for _ in range(300):
        text = expression(3)
        pattern, python = TopicPattern(text), re.compile(text, re.ASCII)
        assert [name for name in names if pattern.matches(name)] == [
            name for name in names if python.fullmatch(name)
        ], text
