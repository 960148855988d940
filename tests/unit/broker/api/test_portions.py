"""Many questions to coordinators are asked a portion at a time."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

from broker.api.portions import PORTION, answered_in_portions
from broker.api.request import Request
from broker.coordination.keyed_shards import answered, reply_of
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.api.nodes import ask


def request_with(lease: TurnNotes | None = None) -> Request[Any]:
    request: Request[Any] = ask(ApiKey.DESCRIBE_GROUPS, None)
    request.lease = lease
    return request


class TurnNotes:
    """A lease that writes down who may work."""

    def __init__(self) -> None:
        self.may_work = True

    def pass_on(self) -> None:
        self.may_work = False

    async def take_turn(self) -> None:
        self.may_work = True

    def end(self) -> None:
        self.may_work = False


async def test_no_more_than_a_portion_is_asked_before_its_answers_are_taken() -> None:
    waiting = most = 0

    def question(subject: int) -> asyncio.Future[Any]:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, -subject)
        return future

    seen = []
    async for subject, answer in answered_in_portions(
        request_with(), list(range(3 * PORTION + 1)), question
    ):
        waiting -= 1
        seen.append((subject, answer))
    assert seen == [(each, -each) for each in range(3 * PORTION + 1)]
    assert most == PORTION


async def test_an_error_is_the_answer_of_its_subject_alone() -> None:
    refused = KafkaError(ErrorCode.NOT_COORDINATOR)
    answers = [
        answer
        async for _, answer in answered_in_portions(
            request_with(), [1, 2], lambda _: answered(refused)
        )
    ]
    assert answers == [refused, refused]
    assert refused.__traceback__ is None  # it was not raised


async def test_the_next_wide_request_may_work_while_a_portion_waits() -> None:
    turns = TurnNotes()
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def collect() -> list[tuple[int, bool]]:
        found = answered_in_portions(request_with(turns), [1], lambda _: future)
        return [(answer, turns.may_work) async for _, answer in found]

    collecting = asyncio.ensure_future(collect())
    await asyncio.sleep(0)
    assert not turns.may_work
    future.set_result(7)
    assert await collecting == [(7, True)]


async def test_an_error_that_was_raised_needs_no_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        kept = await _raised_and_forgotten()
        assert kept() is None
    finally:
        gc.enable()


async def _raised_and_forgotten() -> weakref.ref[KafkaError]:
    try:
        await reply_of(answered(KafkaError(ErrorCode.NOT_COORDINATOR)))
    except KafkaError as error:
        return weakref.ref(error)
    raise AssertionError("an error is raised")
