"""Waiting ends when the condition holds, and says what it waited for when it does not."""

from __future__ import annotations

import pytest

from harness.cluster.errors import NoAnswerError, NotInTimeError
from harness.cluster.waiting import wait_until


async def test_it_asks_until_the_answer_is_yes() -> None:
    answers = [False, False, True, False]

    async def condition() -> bool:
        return answers.pop(0)

    await wait_until(condition, within_s=5, what="three questions", every_s=0)
    assert answers == [False]


async def test_nobody_answering_is_not_yet_and_told_at_the_end() -> None:
    asked = 0

    async def condition() -> bool:
        nonlocal asked
        asked += 1
        raise NoAnswerError("n1 is silent")

    with pytest.raises(
        NotInTimeError, match=r"timed out after 0\.02 s waiting until n1 leads \(n1 is silent\)"
    ):
        await wait_until(condition, within_s=0.02, what="n1 leads", every_s=0.001)
    assert asked > 1
