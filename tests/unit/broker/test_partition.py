"""A partition wakes those whom a change concerns; whoever waits for a commit is told in time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from broker.change_journal import ChangeJournal
from broker.disk.memory import MemoryDisk
from broker.protocol.errors import ErrorCode
from broker.replication.fetch_check import Diverging
from broker.replication.follower import Answer
from broker.watchers import EVER, Watchers, wait_for_any
from tests.unit.broker.led_partition import EPOCH, LED_HERE, append, fetch, leading
from tests.virtual_time import in_virtual_time


async def waiting_for(watchers: Watchers) -> asyncio.Future[None]:
    waiting = asyncio.ensure_future(wait_for_any([watchers], EVER))
    await asyncio.sleep(0)
    return waiting


@in_virtual_time
async def test_an_append_wakes_followers_and_its_commit_wakes_consumers() -> None:
    journal = ChangeJournal()
    partition = await leading(journal=journal)
    follower = await waiting_for(journal.watchers)
    begun = journal.end
    consumer = await waiting_for(partition.watchers)
    end = append(partition)
    await asyncio.sleep(1)
    assert (follower.done(), consumer.done()) == (True, False)
    assert journal.since(begun) == [partition]
    follower = await waiting_for(journal.watchers)
    fetch(partition, 1, end)
    await asyncio.sleep(1)
    assert (follower.done(), consumer.done()) == (False, False)
    fetch(partition, 2, end)
    await asyncio.sleep(1)
    assert (follower.done(), consumer.done()) == (False, True)
    assert journal.since(begun) == [partition, partition]


@in_virtual_time
async def test_without_followers_an_append_wakes_consumers_at_once() -> None:
    partition = await leading(replace(LED_HERE, replicas=(0,), isr=(0,)))
    consumer = await waiting_for(partition.watchers)
    append(partition)
    await asyncio.sleep(1)
    assert consumer.done()


@in_virtual_time
async def test_a_lost_leadership_wakes_everybody_and_is_told_to_those_who_wait() -> None:
    journal = ChangeJournal()
    partition = await leading(journal=journal)
    everybody = [await waiting_for(journal.watchers), await waiting_for(partition.watchers)]
    outcome = partition.committed(append(partition), timeout_s=30)
    await partition.become(replace(LED_HERE, leader=1, leader_epoch=EPOCH + 1))
    assert await outcome == ErrorCode.NOT_LEADER_OR_FOLLOWER
    await asyncio.gather(*everybody)


@in_virtual_time
async def test_nobody_leads_while_a_log_is_cut_off_for_a_fetcher_that_is_gone() -> None:
    disk = MemoryDisk()
    partition = await leading(disk=disk)
    for _ in range(3):
        append(partition)
    await partition.become(replace(LED_HERE, leader=1, leader_epoch=EPOCH + 1))
    disk.slow("fdatasync", seconds=5.0)
    answer = Answer(diverging=Diverging(EPOCH, 1), log_start_offset=0)
    taking = asyncio.ensure_future(partition.take(partition.question(), answer, None))
    await asyncio.sleep(1)
    taking.cancel()
    await partition.become(replace(LED_HERE, leader_epoch=EPOCH + 2))
    assert taking.cancelled()
    assert partition.log.end_offset == 1
    assert partition.leader is not None
    assert partition.leader.epoch_start_offset == 1


@in_virtual_time
async def test_a_produce_runs_out_of_time_when_its_time_is_up() -> None:
    """Also if the timer was set for another one, which has been answered since."""
    partition, loop = await leading(), asyncio.get_running_loop()
    begun = loop.time()
    first_end = append(partition)
    first = partition.committed(first_end, timeout_s=10)
    await asyncio.sleep(4)
    second = partition.committed(append(partition), timeout_s=20)
    for replica in (1, 2):
        fetch(partition, replica, first_end)
    assert await first == ErrorCode.NONE
    assert await second == ErrorCode.REQUEST_TIMED_OUT
    assert loop.time() - begun == 24


@in_virtual_time
async def test_a_produce_with_less_patience_is_not_held_up_by_one_with_more() -> None:
    partition, loop = await leading(), asyncio.get_running_loop()
    begun = loop.time()
    patient = partition.committed(append(partition), timeout_s=20)
    hasty = partition.committed(append(partition), timeout_s=3)
    assert await hasty == ErrorCode.REQUEST_TIMED_OUT
    assert loop.time() - begun == 3
    assert await patient == ErrorCode.REQUEST_TIMED_OUT
    assert loop.time() - begun == 20
