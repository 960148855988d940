"""The stories of transactions. `transactions/story.py` lists the commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden import transcripts
from tests.golden.transactions.broken_rules import BROKEN, BrokenRule
from tests.golden.transactions.story import Story

HERE = Path(__file__).parent / "transactions"
STORIES = sorted(HERE.glob("*.txt"))

GUARDED = ("T01", "T02", "T03", "T04", "T05", "T06", "I05", "I08")


@pytest.fixture
def story() -> Iterator[Story]:
    made = Story()
    yield made
    made.close()


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path, story: Story) -> None:
    transcripts.check(path, story.interpret)


def test_every_known_bug_has_its_story() -> None:
    openings = " ".join(path.read_text().partition("\n")[0] for path in STORIES)
    assert [row for row in GUARDED if f"{row}:" not in openings] == []


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_the_story_notices_a_broken_rule(
    broken: BrokenRule, monkeypatch: pytest.MonkeyPatch, story: Story
) -> None:
    monkeypatch.setattr(broken.owner, broken.name, broken.instead)
    with pytest.raises(AssertionError):
        transcripts.check(HERE / f"{broken.story}.txt", story.interpret)
