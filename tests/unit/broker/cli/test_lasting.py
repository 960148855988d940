"""What lasts is left out of the collector's rounds, and what went is let go."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from broker.cli.lasting import leave_out_what_lasts
from tests.virtual_time import in_virtual_time


class Knot:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


@in_virtual_time
async def test_it_is_done_again_for_each_few_hundred_partitions() -> None:
    gc.unfreeze()
    partitions = [[number] for number in range(100)]
    task = asyncio.ensure_future(leave_out_what_lasts(partitions))
    await asyncio.sleep(10)
    assert gc.get_freeze_count() == 0
    partitions += [[number] for number in range(600)]
    await asyncio.sleep(2)
    frozen = gc.get_freeze_count()
    assert frozen > 700
    more = [[number] for number in range(400)]
    partitions += more
    await asyncio.sleep(2)
    assert gc.get_freeze_count() <= frozen  # too few of them to be worth a round
    task.cancel()


@in_virtual_time
async def test_what_is_gone_with_many_partitions_is_found() -> None:
    gc.unfreeze()
    partitions: list[object] = []
    task = asyncio.ensure_future(leave_out_what_lasts(partitions))
    await asyncio.sleep(2)
    partitions += [Knot() for _ in range(600)]
    await asyncio.sleep(2)
    partitions.clear()
    assert Knot in _types_of_everything()
    await asyncio.sleep(2)
    assert Knot not in _types_of_everything()
    task.cancel()


def _types_of_everything() -> set[type]:
    """Includes the types of frozen objects, which are thawed for the look and no longer.

    Types, not `isinstance`: that one asks a weak proxy of another test for its dead object.
    """
    gc.unfreeze()
    found = {type(each) for each in gc.get_objects()}
    gc.freeze()
    return found
