"""Subscriptions by regular expression: resolved later, stored, and refreshed when topics come."""

from __future__ import annotations

import random
from typing import Any

from broker.groups.consumer import regex_search
from broker.groups.consumer.subscriptions import ResolvedRegex
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode
from tests.unit.broker.groups.consumer.desk import Desk


def join(desk: Desk, member_id: str, regex: str, **more: Any) -> m.ConsumerGroupHeartbeatResponse:
    fields = {"subscribed_topic_names": None, "subscribed_topic_regex": regex, **more}
    return desk.join(member_id, **fields)


def resolved(desk: Desk) -> dict[str, list[str]]:
    found = desk.group.state.subscriptions.resolved
    return {regex: sorted(it.topics) for regex, it in sorted(found.items())}


def test_topics_come_with_the_heartbeat_after_the_resolution() -> None:
    desk = Desk(orders_1=1, orders_2=1, other=1)
    response = join(desk, "m", "orders_.*")
    assert (response.member_epoch, desk.assigned(response)) == (1, {})
    desk.wait(0)
    assert resolved(desk) == {"orders_.*": ["orders_1", "orders_2"]}
    response = desk.beat("m", 1)
    assert (response.member_epoch, desk.assigned(response)) == (
        2,
        {"orders_1": [0], "orders_2": [0]},
    )


def test_a_wrong_expression_is_refused() -> None:
    desk = Desk(t=1)
    response = join(desk, "m", "(?=t)")
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert response.error_message == (
        "SubscribedTopicRegex `(?=t)` is not a valid regular expression: "
        "invalid or unsupported Perl syntax"
    )
    assert desk.machine.groups == {}


def test_an_empty_expression_is_none() -> None:
    desk = Desk(t=1)
    assert join(desk, "m", "").member_epoch == 1
    desk.wait(0)
    assert resolved(desk) == {}


def test_a_member_with_a_known_expression_gets_its_share_at_once() -> None:
    desk = Desk(t1=1, t2=1)
    join(desk, "m1", "t.")
    desk.wait(0)
    desk.beat("m1", 1)
    assert join(desk, "m2", "t.").member_epoch == 3
    desk.beat("m1", 2)
    desk.beat("m1", 2, owned={"t1": [0]})
    assert desk.assigned(desk.beat("m2", 3)) == {"t2": [0]}


def test_names_and_an_expression_add_up() -> None:
    desk = Desk(a=1, x=1)
    join(desk, "m", "x", subscribed_topic_names=["a"])
    desk.wait(0)
    assert desk.assigned(desk.beat("m", 2)) == {"a": [0], "x": [0]}


def test_new_topics_are_found_but_not_more_often_than_every_ten_seconds() -> None:
    desk = Desk(t1=1)
    join(desk, "m", "t.")
    desk.wait(0)
    desk.beat("m", 1)
    desk.put_topic("t2", 1)
    desk.wait(5)
    desk.beat("m", 2)
    desk.wait(0)
    assert resolved(desk) == {"t.": ["t1"]}
    desk.wait(5)
    desk.beat("m", 2)
    desk.wait(0)
    assert resolved(desk) == {"t.": ["t1", "t2"]}
    assert desk.assigned(desk.beat("m", 2)) == {"t1": [0], "t2": [0]}


def test_a_deleted_topic_is_taken_away_and_forgotten_later() -> None:
    desk = Desk(t1=1, t2=1)
    join(desk, "m", "t.")
    desk.wait(0)
    desk.beat("m", 1)
    desk.delete_topic("t2")
    response = desk.beat("m", 2, owned={"t1": [0]})
    assert (response.member_epoch, desk.assigned(response)) == (3, {"t1": [0]})
    desk.wait(11)
    desk.beat("m", 3)
    desk.wait(0)
    assert resolved(desk) == {"t.": ["t1"]}


def test_expressions_are_resolved_again_after_the_refresh_interval() -> None:
    desk = Desk(t1=1)
    join(desk, "m", "t.")
    desk.wait(0)
    first = desk.group.state.subscriptions.resolved["t."].timestamp_ms
    for _ in range(22):
        desk.beat("m", desk.group.state.members["m"].epoch)
        desk.wait(30)
    assert desk.group.state.subscriptions.resolved["t."].timestamp_ms > first
    assert desk.group.state.epoch == 2


def test_an_expression_that_nobody_uses_is_deleted() -> None:
    desk = Desk(t1=1, u1=1)
    join(desk, "m1", "t.")
    desk.wait(0)
    join(desk, "m2", "t.")
    desk.beat("m1", 1, subscribed_topic_regex="u.")
    assert resolved(desk) == {"t.": ["t1"]}
    desk.beat("m2", -1)
    assert resolved(desk) == {}
    desk.wait(11)
    desk.beat("m1", desk.group.state.members["m1"].epoch, owned={})
    desk.wait(0)
    assert resolved(desk) == {"u.": ["u1"]}


def test_leaving_an_expression_for_names_takes_its_topics_away() -> None:
    desk = Desk(t1=1, u=1)
    join(desk, "m", "t.")
    desk.wait(0)
    desk.beat("m", 1)
    response = desk.beat("m", 2, subscribed_topic_names=["u"], subscribed_topic_regex="")
    assert (desk.assigned(response), resolved(desk)) == ({}, {})
    assert desk.assigned(desk.beat("m", 2, owned={})) == {"u": [0]}


def test_a_new_coordinator_goes_on_with_what_was_resolved() -> None:
    desk = Desk(t1=1)
    join(desk, "m", "t.")
    desk.wait(0)
    desk.beat("m", 1)
    desk.fail_over()
    assert resolved(desk) == {"t.": ["t1"]}
    assert desk.beat("m", 2).member_epoch == 2


def test_a_resolution_that_cannot_be_written_is_tried_again() -> None:
    desk = Desk(t1=1)
    join(desk, "m", "t.")
    desk.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    desk.wait(0)
    desk.refuses = ErrorCode.NONE
    desk.wait(2)
    assert resolved(desk) == {"t.": ["t1"]}


def test_many_names_are_searched_in_slices() -> None:
    desk = Desk()
    for number in range(2500):
        desk.put_topic(f"t{number}", 1)
    join(desk, "m", "t.*7")
    for _ in range(2):
        desk.wait(0)
        assert resolved(desk) == {}
        desk.wait(0.001)
    assert len(resolved(desk)["t.*7"]) == 250


def test_hard_expressions_make_slices_shorter() -> None:
    draw = random.Random(3)
    names = sorted({"".join(draw.choices("ab", k=40)) for _ in range(200)})
    search = regex_search.RegexSearch([".*a.{30}", ".*"], names, 1, 1)
    slices = 1
    while not search.go_on():
        slices += 1
    assert slices > 2
    assert search.found()[".*"].topics == set(names)


def test_many_expressions_are_compiled_in_slices() -> None:
    regexes = [f"{number}" + "a" * 600 + "|t.*" for number in range(10)]
    search = regex_search.RegexSearch(regexes, ["t1"], 1, 1)
    slices = 1
    while not search.go_on():
        slices += 1
    assert slices == 5
    assert search.found() == dict.fromkeys(regexes, ResolvedRegex(frozenset({"t1"}), 1, 1))
