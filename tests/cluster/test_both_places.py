"""The same stories on three real processes and on three simulated machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import admin_stories, stories
from tests.cluster.both_places import Story, on_local, on_sim

EVERYWHERE: list[Story] = [
    stories.a_node_dies_and_comes_back,
    stories.a_clean_stop_moves_leadership_first,
    stories.a_paused_leader_is_replaced,
    stories.the_controller_dies,
    stories.all_nodes_die_at_once,
    admin_stories.topics_are_made_once,
    admin_stories.leadership_moves_by_order_and_election,
    admin_stories.records_are_deleted_up_to_an_offset,
    admin_stories.a_topic_is_altered_and_its_segments_are_shown,
]
WITH_DISKS: list[Story] = [stories.a_full_disk_is_freed]
WITH_LINKS: list[Story] = [stories.an_isolated_leader_is_replaced]

QUICK: list[Story] = [
    stories.a_paused_leader_is_replaced,
    admin_stories.leadership_moves_by_order_and_election,
]
"""On real processes the others wait for make test-all: they take seconds each."""


def name_of(story: Story) -> str:
    return story.__name__


def slow_but_for(quick: list[Story], told: list[Story]) -> list[object]:
    return [pytest.param(story, marks=[] if story in quick else pytest.mark.slow) for story in told]


@pytest.mark.clients
@pytest.mark.parametrize("story", slow_but_for(QUICK, EVERYWHERE), ids=name_of)
def test_on_real_processes(story: Story, tmp_path: Path) -> None:
    on_local(story, tmp_path)


@pytest.mark.clients
@pytest.mark.slow
@pytest.mark.parametrize("story", WITH_DISKS, ids=name_of)
def test_on_real_processes_with_disks_of_their_own(story: Story, tmp_path: Path) -> None:
    on_local(story, tmp_path, disk_bytes=64 << 20)


@pytest.mark.parametrize("story", [*EVERYWHERE, *WITH_DISKS, *WITH_LINKS], ids=name_of)
def test_in_the_simulator(story: Story) -> None:
    on_sim(story)


def test_one_seed_tells_one_story() -> None:
    told = stories.an_isolated_leader_is_replaced
    assert on_sim(told, seed=2) == on_sim(told, seed=2) != on_sim(told, seed=3)
