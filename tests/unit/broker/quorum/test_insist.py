"""A full disk is waited for, and told of; any other failure is raised at once."""

from __future__ import annotations

import asyncio
import errno

import pytest

from broker.log.segment import FailedSyncError
from broker.protocol.errors import ErrorCode, KafkaError
from broker.quorum.insist import insist
from tests.virtual_time import in_virtual_time


class Deed:
    """Fails with each of the problems in turn, and then succeeds."""

    def __init__(self, *problems: Exception) -> None:
        self.problems = list(problems)
        self.tries = 0

    async def __call__(self) -> str:
        self.tries += 1
        await asyncio.sleep(0)
        if self.problems:
            raise self.problems.pop(0)
        return "done"


def full(number: int = errno.ENOSPC) -> OSError:
    return OSError(number, "full", "f")


def refusal(problem: OSError | None) -> KafkaError:
    """As a log raises it."""
    error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "refused")
    error.__cause__ = problem
    return error


@in_virtual_time
async def test_what_succeeds_tells_nobody() -> None:
    told: list[OSError | None] = []
    assert await insist(Deed(), told.append) == "done"
    assert told == []


@in_virtual_time
async def test_a_lack_of_room_is_told_and_waited_for_and_its_end_is_told_too() -> None:
    problems = [full(), full(errno.EDQUOT), full()]
    deed = Deed(problems[0], problems[1], refusal(problems[2]))
    told: list[OSError | None] = []
    began = asyncio.get_running_loop().time()
    assert await insist(deed, told.append) == "done"
    assert deed.tries == 4
    assert told == [*problems, None]
    assert asyncio.get_running_loop().time() - began == pytest.approx(3.0)


@pytest.mark.parametrize(
    "problem",
    [
        OSError(errno.EIO, "broken", "f"),
        FailedSyncError(errno.ENOSPC, "no room at a sync, so that what was written is lost", "f"),
        refusal(OSError(errno.EIO, "broken", "f")),
        refusal(None),
        ValueError("a bug"),
    ],
)
@in_virtual_time
async def test_anything_else_is_raised_at_once_also_after_a_wait(problem: Exception) -> None:
    told: list[OSError | None] = []
    with pytest.raises(type(problem)) as raised:
        await insist(Deed(problem), told.append)
    assert raised.value is problem
    assert told == []
    lack = full()
    with pytest.raises(type(problem)):
        await insist(Deed(lack, problem), told.append)
    assert told == [lack]


@in_virtual_time
async def test_whoever_waits_for_room_can_be_cancelled() -> None:
    deed = Deed(*(full() for _ in range(1000)))
    waiting = asyncio.ensure_future(insist(deed, lambda _: None))
    await asyncio.sleep(10.5)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert deed.tries == 11
