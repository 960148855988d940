"""What a group is subscribed to, before and after a change."""

from __future__ import annotations

import random

from broker.groups.consumer.member import Member
from broker.groups.consumer.subscriptions import ResolvedRegex, Subscriptions


def named(member_id: str, *names: str, regex: str = "") -> Member:
    return Member(member_id, topic_names=frozenset(names), topic_regex=regex)


def resolved(*topics: str) -> ResolvedRegex:
    return ResolvedRegex(frozenset(topics), 1, 2)


def test_a_topic_stays_as_long_as_one_member_names_it() -> None:
    them = Subscriptions()
    them.change(None, named("m1", "a", "b"))
    them.change(None, named("m2", "b"))
    assert (them.names, "b" in them) == ({"a", "b"}, True)
    them.change(named("m1", "a", "b"), None)
    assert them.names == {"b"}
    them.change(named("m2", "b"), named("m2"))
    assert (them.names, "b" in them) == (set(), False)


def test_an_expression_counts_when_it_is_resolved() -> None:
    them = Subscriptions()
    member = named("m1", "a", regex="x.*")
    them.change(None, member)
    assert (them.names, them.regexes, them.unresolved) == ({"a"}, ["x.*"], True)
    assert them.topics_of(member) == {"a"}
    them.resolve("x.*", resolved("x1", "x2"))
    assert (them.names, them.unresolved) == ({"a", "x1", "x2"}, False)
    assert them.topics_of(member) == {"a", "x1", "x2"}
    them.resolve("x.*", resolved("x2"))
    assert them.names == {"a", "x2"}
    them.resolve("x.*", None)
    assert them.names == {"a"}


def test_equal_sets_of_names_are_one_object() -> None:
    them = Subscriptions()
    first = frozenset({"a", "b"})
    them.change(None, Member("m1", topic_names=first))
    assert them.shared(frozenset({"b", "a"})) is first
    them.change(Member("m1", topic_names=first), None)
    other = frozenset({"b", "a"})
    assert them.shared(other) is other


def test_a_change_that_leaves_all_topics_is_told_apart() -> None:
    them = Subscriptions()
    them.change(None, named("m1", "a"))
    assert them.names_after(joining=[named("m2", "a")]) is None
    assert them.names_after(joining=[named("m2", "b")]) == {"a", "b"}
    assert them.names_after(leaving=[named("m1", "a")]) == set()
    assert them.names_after(leaving=[named("m1", "a")], joining=[named("m3", "a")]) is None
    assert them.names_after(resolved={"x": resolved("a")}) is None
    assert them.names_after(resolved={"x": resolved("x")}) == {"a", "x"}


def test_what_is_foretold_comes_true() -> None:
    draw = random.Random(5)
    them = Subscriptions()
    members: dict[str, Member] = {}
    for _ in range(500):
        if draw.random() < 0.3:
            regex = draw.choice("xyz")
            found = (
                resolved(*draw.sample("abcdef", draw.randrange(4))) if draw.random() < 0.8 else None
            )
            foretold = them.names_after(resolved={regex: found})
            before = them.names
            them.resolve(regex, found)
        else:
            name = f"m{draw.randrange(4)}"
            old = members.get(name)
            new = (
                named(name, *draw.sample("abcdef", draw.randrange(4)))
                if draw.random() < 0.7
                else None
            )
            foretold = them.names_after(leaving=[old] if old else [], joining=[new] if new else [])
            before = them.names
            them.change(old, new)
            members.pop(name, None)
            if new:
                members[name] = new
        assert them.names == (before if foretold is None else foretold)
