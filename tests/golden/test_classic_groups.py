"""The stories of classic groups: who is a member, who leads, who is assigned what, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import transcripts
from tests.golden.groups.classic.broken_rules import BROKEN, BrokenRule
from tests.golden.groups.classic.story import Story

HERE = Path(__file__).parent / "groups" / "classic"
STORIES = sorted(HERE.glob("*.txt"))

GUARDED = ("G01", "G04", "G05")


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    transcripts.check(path, Story().interpret)


def test_every_known_bug_has_its_story() -> None:
    openings = " ".join(path.read_text().partition("\n")[0] for path in STORIES)
    assert [row for row in GUARDED if f"{row}:" not in openings] == []


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_the_story_notices_a_broken_rule(
    broken: BrokenRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broken.owner, broken.name, broken.instead)
    with pytest.raises(AssertionError):
        transcripts.check(HERE / f"{broken.story}.txt", Story().interpret)
