"""The comparison can fail: every kind of difference is found, and equal answers are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.protocol.apis import ApiKey
from tests.differential.compare import ENDING, STOPPED, Difference, compared, value_differences
from tests.differential.judge import Intended, Kind, judged, report
from tests.differential.plain import Plain
from tests.differential.play import Play
from tests.differential.script import Story
from tests.differential.talk import Step, Talk


def nothing(talk: Talk) -> None:
    """A story that tells nothing."""


STORY = Story("area", "story", ApiKey.METADATA, range(1), nothing)


def answer(**changed: Any) -> Plain:
    part = {"index": 0, "error_code": 0, "offset": 7}
    return Plain(throttle_time_ms=0, topics=[Plain(name="t", parts=[Plain(part | changed)])])


def played(*responses: Plain | None, stopped: str = "", endings: tuple[str, ...] = ()) -> Play:
    steps = [
        Step(f"step {number}", ApiKey.METADATA, 0, {}, response)
        for number, response in enumerate(responses)
    ]
    for step, ending in zip(steps, endings, strict=False):
        step.ending = ending
    return Play(STORY, 0, "label", steps, stopped)


def found(kafka: Play, ours: Play) -> list[tuple[str, Any, Any]]:
    return [(each.path, each.kafka, each.ours) for each in compared(kafka, ours)]


def test_equal_answers_have_no_difference() -> None:
    assert found(played(answer()), played(answer())) == []


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"error_code": 3},
            ("topics[t].parts[0].error_code", "NONE", "UNKNOWN_TOPIC_OR_PARTITION"),
        ),
        ({"offset": 8}, ("topics[t].parts[0].offset", 7, 8)),
        ({"offset": None}, ("topics[t].parts[0].offset", 7, None)),
        ({"extra": 1}, ("topics[t].parts[0].extra", "<absent>", 1)),
        ({"offset": True}, ("topics[t].parts[0].offset", 7, True)),
    ],
)
def test_one_field_that_differs_is_one_difference(
    changed: dict[str, Any], expected: tuple[str, Any, Any]
) -> None:
    assert found(played(answer()), played(answer(**changed))) == [expected]


def test_one_is_not_true() -> None:
    assert list(value_differences({"a": 1}, {"a": True})) == [("a", 1, True)]


def test_an_element_that_is_missing_is_a_difference() -> None:
    two = [{"name": "a"}, {"name": "b"}]
    assert [path for path, _, _ in value_differences({"x": two}, {"x": two[:1]})] == ["x[b]"]


def test_an_element_that_is_there_twice_is_a_difference() -> None:
    one = [{"name": "a"}]
    assert [path for path, _, _ in value_differences({"x": one}, {"x": one * 2})] == ["x[a#2]"]


def test_the_order_of_topics_is_none_and_that_of_records_is() -> None:
    a, b = {"name": "a", "value": 1}, {"name": "b", "value": 2}
    assert list(value_differences({"topics": [a, b]}, {"topics": [b, a]})) == []
    assert len(list(value_differences({"records": [a, b]}, {"records": [b, a]}))) == 4


def test_an_end_of_the_connection_is_a_difference() -> None:
    ours = played(None, endings=("closed",))
    assert found(played(answer()), ours) == [(ENDING, "response", "closed")]


def test_a_story_that_stopped_is_a_difference_even_if_both_did() -> None:
    both = [played(answer(), stopped="no such field") for _ in range(2)]
    assert [path for path, _, _ in found(*both)] == [STOPPED]


def test_a_story_that_goes_another_way_is_a_difference() -> None:
    kafka, ours = played(answer()), played(answer())
    ours.steps[0].name = "another step"
    assert [path for path, _, _ in found(kafka, ours)] == ["next step"]


def a_difference(**changed: Any) -> Difference:
    [difference] = compared(played(answer()), played(answer(**{"offset": 8, **changed})))
    return difference


FITTING = Intended("area", "topics[*].parts[*].offset", "Because.", Kind.FORMS)


def test_an_intended_difference_is_no_failure() -> None:
    verdict = judged([a_difference()], [FITTING], ["area"])
    assert verdict.is_good
    assert [entry for _, entry in verdict.intended] == [FITTING]


@pytest.mark.parametrize(
    "entry",
    [
        Intended("other", "topics[*].parts[*].offset", "Because.", Kind.FORMS),
        Intended("area", "topics[*].parts[*].error_code", "Because.", Kind.FORMS),
        Intended("area", "topics[*].parts.offset", "Because.", Kind.FORMS),
        Intended("area", "topics[*]", "Because.", Kind.FORMS),
        Intended("area", "topics[*].parts[*].offset", "Because.", Kind.FORMS, step="story/step 1"),
        Intended("area", "topics[*].parts[*].offset", "Because.", Kind.FORMS, versions=range(1, 5)),
        Intended("area", "topics[*].parts[*].offset", "Because.", Kind.FORMS, kafka=9),
        Intended("area", "topics[*].parts[*].offset", "Because.", Kind.FORMS, ours=9),
    ],
)
def test_an_entry_covers_nothing_but_what_it_says(entry: Intended) -> None:
    verdict = judged([a_difference()], [entry], [])
    assert len(verdict.failures) == 1


def test_an_entry_that_is_not_needed_is_an_error_once_its_area_was_played() -> None:
    assert judged([], [FITTING], ["area"]).unused == [FITTING]
    assert not judged([], [FITTING], ["area"]).is_good
    assert judged([], [FITTING], ["other"]).is_good


def test_an_entry_for_every_area_is_needed_once_all_were_played() -> None:
    everywhere = Intended("*", "**offset", "Because.", Kind.FORMS)
    assert judged([a_difference()], [everywhere], ["area", "*"]).is_good
    assert judged([], [everywhere], ["area"]).is_good
    assert not judged([], [everywhere], ["area", "*"]).is_good


def says(part: str) -> Callable[[str], bool]:
    return lambda line: part in line


def test_the_report_has_the_step_the_request_and_both_answers() -> None:
    lines = list(report(judged([a_difference()], [], ["area"])))
    for part in ("story/step 0", "offset: Kafka 7, ours 8", "request: METADATA v0", "offset=8"):
        assert any(map(says(part), lines)), (part, lines)


def test_the_report_names_entries_that_are_not_needed() -> None:
    [line] = report(judged([], [FITTING], ["area"]))
    assert line.startswith("UNUSED")


def test_a_setup_is_not_compared_but_names_its_ids() -> None:
    plays: list[Play] = []
    for shown in (b"a" * 16, b"b" * 16):
        play = played(Plain(topic_id=b"a" * 16, offset=len(plays)), Plain(topic_id=shown))
        play.steps[0].is_setup = True
        plays.append(play)
    [(path, kafka, ours)] = found(*plays)
    assert path == "topic_id"
    assert (kafka, ours) == ("<topic id 1 of step 0>", "<topic id 1 of step 1>")
