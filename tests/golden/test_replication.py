"""The stories of replication: each is told at the point where a known bug would bite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import transcripts
from tests.golden.replication import broken_replicas as broken
from tests.golden.replication.replica import Replica
from tests.golden.replication.story import Story

HERE = Path(__file__).parent / "replication"
STORIES = sorted(HERE.glob("*.txt"))

GUARDED = "R01 R02 R03 R04 R05 R06 R07 R08 R09 R10 R12 R14 R16 R20 Q05 Q06 V01 V07".split()


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_story(path: Path) -> None:
    transcripts.check(path, Story().interpret)


def test_every_known_bug_has_its_story() -> None:
    openings = " ".join(path.read_text().partition("\n")[0] for path in STORIES)
    assert [row for row in GUARDED if f"{row}:" not in openings] == []


@pytest.mark.parametrize(
    ("replica_type", "story"),
    [
        (broken.TruncatesToHighWatermark, "a-new-follower-keeps-what-is-above-its-high-watermark"),
        (broken.TruncatesByOffsetAlone, "an-epoch-the-leader-never-had-is-dropped-whole"),
        (broken.KeepsWhatNobodyCanCompare, "nothing-is-kept-that-the-leader-cannot-compare"),
        (broken.JoinsAtHighWatermark, "a-replica-joins-at-the-start-of-the-epoch"),
        (broken.CountsDivergingFetches, "a-diverging-fetch-does-not-count"),
        (broken.AcknowledgesItsOwnAppend, "the-leader-alone-acknowledges-nothing"),
        (broken.CommitsBelowMinIsr, "below-min-isr-nothing-is-committed"),
        (broken.ForgetsTheEligible, "an-eligible-replica-counts-when-the-minimum-is-lowered"),
        (broken.IgnoresBrokerEpochs, "what-a-restarted-replica-had-does-not-count"),
        (broken.ShrinksAtOnce, "a-removal-counts-when-the-controller-says-so"),
        (broken.ForgetsAProposedAddition, "an-addition-counts-from-the-proposal-on"),
        (broken.ForgetsARefusedAddition, "a-refused-addition-counts-until-the-epoch-moves"),
        (broken.TakesHighWatermarkFirst, "the-high-watermark-comes-after-the-truncation"),
        (broken.FilesEpochsLate, "an-epoch-begins-even-if-it-writes-nothing"),
        (broken.AnswersUnderAnyEpoch, "an-answer-counts-only-under-the-epoch-it-was-asked-for"),
        (broken.ObeysLateAnswers, "an-answer-counts-only-under-the-epoch-it-was-asked-for"),
        (broken.ObeysLateAnswers, "an-old-order-to-truncate-is-not-obeyed"),
        (broken.KeepsItsHighWatermark, "starting-over-moves-the-high-watermark-along"),
        (broken.TakesRefusalsForRanges, "who-does-not-lead-yet-moves-nobody"),
        (broken.LeadsFromBeforeItsStart, "a-node-does-not-lead-from-before-it-started"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_the_story_notices_a_broken_rule(replica_type: type[Replica], story: str) -> None:
    with pytest.raises(AssertionError, match="says something else"):
        transcripts.check(HERE / f"{story}.txt", Story(replica_type).interpret)
