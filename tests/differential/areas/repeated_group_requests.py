"""Requests of classic members that wait, and what happens when the same member asks again."""

from __future__ import annotations

from tests.differential.areas.classic_rebalances import (
    BOTH,
    JOIN,
    OTHER_ORDER,
    Caller,
    assigned,
    describe,
    gathered,
    until,
)
from tests.differential.members import join, new_group
from tests.differential.script import story
from tests.differential.talk import Talk

PATIENCE_S = 2.0
"""Kafka never answers some of these requests."""


@story(JOIN, 9)
def a_join_is_repeated(talk: Talk) -> None:
    group = new_group(talk)
    a, b = Caller(talk, "a", group), Caller(talk, "b", group)
    a.joined(a.join("a"))
    a.sync("a syncs", a).answer()
    first = b.join("b joins")
    until(talk, group, "PreparingRebalance", 2)
    second = talk.send("b joins again", on="again", **join(group, b.id))
    first.outcome(PATIENCE_S)
    a.joined(a.join("a rejoins"))
    b.joined(second)
    assigned("two", a, b)
    describe(talk, "two are stable", group)


@story(JOIN, 9)
def a_sync_is_repeated(talk: Talk) -> None:
    group = new_group(talk)
    a, b = Caller(talk, "a", group), Caller(talk, "b", group)
    gathered("two", a, b)
    first = b.sync("b waits")
    assert first.is_silent()
    b.name = "again"
    second = b.sync("b waits again")
    first.outcome(PATIENCE_S)
    a.sync("a assigns", a, b).answer()
    second.answer()


@story(JOIN, 9)
def a_member_leaves_while_its_sync_waits(talk: Talk) -> None:
    group = new_group(talk)
    a, b = Caller(talk, "a", group), Caller(talk, "b", group)
    gathered("two", a, b)
    waits = b.sync("b waits")
    assert waits.is_silent()
    b.name = "other"
    b.leave("b leaves by another connection")
    waits.outcome(PATIENCE_S)
    a.beat("a learns of it")


@story(JOIN, 9)
def a_member_leaves_while_its_join_waits(talk: Talk) -> None:
    group = new_group(talk)
    a, b = Caller(talk, "a", group), Caller(talk, "b", group)
    a.joined(a.join("a"))
    a.sync("a syncs", a).answer()
    waits = b.join("b joins")
    until(talk, group, "PreparingRebalance", 2)
    b.name = "other"
    b.leave("b leaves by another connection")
    waits.outcome(PATIENCE_S)
    a.joined(a.join("a rejoins"))
    describe(talk, "a alone", group)


@story(JOIN, 9)
def a_static_member_is_replaced_before_its_sync(talk: Talk) -> None:
    group = new_group(talk)
    a, b = Caller(talk, "a", group, "one"), Caller(talk, "b", group, "two")
    gathered("two", a, b)
    successor = Caller(talk, "b2", group, "two")
    pending = successor.join("b restarts before its sync")
    # Either it is answered at once, or the rebalance has begun anew and it waits for the leader.
    is_waiting = pending.is_silent()
    describe(talk, "b restarted", group)
    if not is_waiting:
        pending.answer()


@story(JOIN, 9)
def a_static_member_is_replaced_while_its_join_waits(talk: Talk) -> None:
    group = new_group(talk)
    a, b = Caller(talk, "a", group, "one"), Caller(talk, "b", group, "two")
    a.joined(a.join("a"))
    a.sync("a syncs", a).answer()
    first = b.join("b joins")
    until(talk, group, "PreparingRebalance", 2)
    successor = Caller(talk, "b2", group, "two")
    second = successor.join("b restarts")
    first.outcome(PATIENCE_S)
    a.joined(a.join("a rejoins"))
    successor.joined(second)
    assigned("two", a, successor)


@story(JOIN, 9)
def votes_are_tied(talk: Talk) -> None:
    for protocols, others in ((BOTH, OTHER_ORDER), (OTHER_ORDER, BOTH)):
        group = new_group(talk)
        a, b = Caller(talk, "a", group), Caller(talk, "b", group)
        first = protocols[0]["name"]
        a.joined(a.join(f"a prefers {first}", protocols=protocols))
        a.sync("a syncs", a).outcome()
        second = b.join("b prefers the other one", protocols=others)
        until(talk, group, "PreparingRebalance", 2)
        a.joined(a.join(f"a rejoins, for {first}", protocols=protocols))
        b.joined(second)
