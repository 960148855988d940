"""The stories of the controller: what it decides when brokers come, go, and come too late."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import transcripts
from tests.golden.controller.story import Story

STORIES = sorted((Path(__file__).parent / "controller").glob("*.txt"))

GUARDED = ("R05", "R07", "R08", "R09", "I08")


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    transcripts.check(path, Story().interpret)


def test_every_known_bug_has_its_story() -> None:
    openings = " ".join(path.read_text().partition("\n")[0] for path in STORIES)
    assert [row for row in GUARDED if f"{row}:" not in openings] == []
