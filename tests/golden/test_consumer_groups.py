"""The stories of consumer groups. `groups/consumer/story.py` lists the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import transcripts
from tests.golden.groups.consumer.story import Story
from tests.property import consumer_group_mutants as mutants
from tests.property.consumer_group_mutants import Mutant

HERE = Path(__file__).parent / "groups" / "consumer"
STORIES = sorted(HERE.glob("*.txt"))

GUARDED = ("G03", "G05", "G11", "L04")


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    transcripts.check(path, Story().interpret)


def test_every_known_bug_has_its_story() -> None:
    openings = " ".join(path.read_text().partition("\n")[0] for path in STORIES)
    assert [row for row in GUARDED if f"{row}:" not in openings] == []


@pytest.mark.parametrize(
    ("break_a_rule", "story"),
    [
        (
            mutants.forget_who_holds_a_partition_that_comes_back,
            "g03_a_partition_comes_back_while_it_is_given_up",
        ),
        (mutants.believe_that_what_must_go_is_gone, "three_join_one_after_the_other"),
        (mutants.take_silence_for_a_confirmation, "three_join_one_after_the_other"),
        (mutants.assign_what_others_hold, "three_join_one_after_the_other"),
        (mutants.forget_what_is_being_given_up, "failover_in_the_middle_of_a_reconciliation"),
        (mutants.accept_any_epoch, "a_reply_is_lost"),
        (mutants.watch_no_sessions, "a_member_dies"),
        (mutants.begin_no_epoch_when_a_member_leaves, "a_member_dies"),
        (mutants.look_for_new_topics_only_once, "a_regular_expression_follows_topics"),
        (mutants.take_tombstones_for_members, "g11_tombstones_without_their_records"),
        (
            mutants.accept_commits_of_earlier_epochs,
            "l04_an_offset_from_before_the_partition_went_away",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_the_story_notices_a_broken_rule(
    break_a_rule: Mutant, story: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_a_rule(monkeypatch)
    with pytest.raises(AssertionError, match="says something else"):
        transcripts.check(HERE / f"{story}.txt", Story().interpret)
