"""The stories of a coordinator and its log. `groups/coordinator/story.py` lists the commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.coordination import loading, shard
from broker.coordination.shard import Shard
from broker.coordination.step import Step
from broker.groups.offsets import CommittedOffsets
from broker.protocol.batch import iterate_headers
from tests.golden import transcripts
from tests.golden.groups.coordinator.story import Story

HERE = Path(__file__).parent / "groups" / "coordinator"
STORIES = sorted(HERE.glob("*.txt"))

GUARDED = ("G02", "G07", "G08", "G10", "L08", "L10")

Patch = pytest.MonkeyPatch


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
    assert [row for row in GUARDED if row not in openings] == []


def load_the_last_batch_of_a_read(patch: Patch) -> None:
    """G02."""
    whole = loading._replay_batches

    async def last(data: memoryview, offset: int, *rest: Any) -> int:
        *_, (position, header) = iterate_headers(data)
        return await whole(data[position:], header.base_offset, *rest)

    patch.setattr(loading, "_replay_batches", last)


def check_when_the_request_comes(patch: Patch) -> None:
    """G07."""
    call = Shard.call

    def early(self: Shard[Any], run: Any, replied: Any) -> None:
        steps: list[Step] = []

        def decided(machine: Any, ticket: Any, now: Any) -> Step:
            return steps[0]

        call(self, decided, replied)
        _, ticket, _ = self._queue[-1]
        steps.append(run(self.machine, ticket, self._now()))

    patch.setattr(Shard, "call", early)


def keep_the_greater_offset(patch: Patch) -> None:
    """G08."""
    replay = CommittedOffsets.replay

    def greater(self: CommittedOffsets, key: Any, value: Any) -> None:
        known = self.find(key.group, key.topic, key.partition)
        if known is None or value is None or value.offset >= known.offset:
            replay(self, key, value)

    patch.setattr(CommittedOffsets, "replay", greater)


def answer_before_the_high_watermark(patch: Patch) -> None:
    """G10."""

    def at_once(self: Shard[Any], replies: list[Any]) -> None:
        for reply in replies:
            self._answer(reply.ticket, reply.response)

    patch.setattr(shard.Shard, "_release_when_committed", at_once)


def answer_strangers(patch: Patch) -> None:
    """L10: a coordinator that does not know the member tells it what it asks for."""
    patch.setattr("broker.groups.consumer.group.ConsumerGroup.check_fetch", lambda *_: 0)


@pytest.mark.parametrize(
    ("break_a_rule", "name"),
    [
        (load_the_last_batch_of_a_read, "g02_every_batch_is_loaded"),
        (check_when_the_request_comes, "g07_the_check_and_the_append_are_one_step"),
        (keep_the_greater_offset, "g08_live_and_loaded_state_agree"),
        (answer_before_the_high_watermark, "g10_a_commit_is_answered_when_it_is_committed"),
        (answer_strangers, "l10_a_fetch_of_offsets_is_refused_and_never_empty"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_the_story_notices_a_broken_rule(
    break_a_rule: Callable[[Patch], None], name: str, story: Story, monkeypatch: Patch
) -> None:
    break_a_rule(monkeypatch)
    with pytest.raises(AssertionError, match="says something else"):
        transcripts.check(HERE / f"{name}.txt", story.interpret)
