"""The names of a wide request are sorted in slices."""

import asyncio

import pytest

from broker.api.name_order import in_order
from broker.api.request import ELEMENTS_AT_ONCE
from broker.log.breather import CALLS_PER_SLICE, Breather
from broker.protocol.apis import ApiKey
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import ask


@pytest.mark.parametrize("count", [0, 1, ELEMENTS_AT_ONCE, 3 * ELEMENTS_AT_ONCE + 1])
def test_each_name_comes_once_in_the_order_of_names(count: int) -> None:
    names = [f"t{(each * 7919) % max(count, 1)}" for each in range(count)]
    request = ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, None)
    assert at_once(in_order(names + names[:10], request)) == sorted(names)


async def test_others_work_before_all_names_are_in_order() -> None:
    request = ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, None)
    request.breather = Breather()
    names = [str(each) for each in range(3 * CALLS_PER_SLICE)]
    sorting = asyncio.ensure_future(in_order(names, request))
    turns = 0
    while not sorting.done():
        await asyncio.sleep(0)
        turns += 1
    assert await sorting == sorted(names)
    assert turns >= 2 * len(names) // CALLS_PER_SLICE
