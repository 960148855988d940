"""The scripts can be loaded, and the list of intended differences is written with care."""

from __future__ import annotations

from broker.api.table import API_TABLE
from broker.protocol.apis import ApiKey
from tests.differential.intended import INTENDED
from tests.differential.play import played_versions
from tests.differential.script import area_names, stories_of

STORIES = [story for area in area_names() for story in stories_of(area)]


def test_every_api_that_is_served_has_a_story() -> None:
    missing = API_TABLE.keys() - {story.api_key for story in STORIES}
    assert {ApiKey(key).name for key in missing} == set()


def test_no_two_stories_of_an_area_share_a_name() -> None:
    places = [(story.area, story.name) for story in STORIES]
    assert len(places) == len(set(places))


def test_every_intended_difference_names_an_area_and_gives_a_sentence() -> None:
    known = {*area_names(), "*"}
    for entry in INTENDED:
        assert entry.area in known, entry
        assert entry.reason.endswith("."), entry
        assert len(entry.reason.split()) >= 4, entry


def test_no_intended_difference_is_listed_twice() -> None:
    assert len(INTENDED) == len(
        {(each.area, each.path, each.step, each.versions, repr(each.ours)) for each in INTENDED}
    )


def test_only_versions_that_every_broker_has_are_played() -> None:
    story = next(story for story in STORIES if story.api_key == ApiKey.METADATA)
    assert played_versions(story, [{3: (0, 13)}, {3: (5, 8)}]) == [5, 6, 7, 8]
    assert played_versions(story, [{3: (0, 99)}])[-1] == 13
    assert played_versions(story, [{3: (0, 13)}, {}]) == []
