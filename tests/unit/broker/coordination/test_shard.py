"""A shard answers when everything is committed that its answer shows, and for one epoch only."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from broker.coordination.shard import ShardState
from broker.coordination.step import CoordinatorRecord, Machine, Step
from broker.coordination.surroundings import ShardSettings
from broker.disk.memory import MemoryDisk
from broker.protocol.batch import BatchHeader, iterate_headers
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.coordination.notes import ALONE, Notes, Stage, read, stage, until, write
from tests.unit.broker.led_partition import EPOCH, LED_HERE, fetch
from tests.virtual_time import in_virtual_time


def replicated(shard_end: int, on: Stage) -> None:
    for follower in (1, 2):
        fetch(on.partition, follower, shard_end)


@in_virtual_time
async def test_a_write_is_answered_when_the_high_watermark_has_passed_it() -> None:
    on = await stage(LED_HERE)
    shard = await on.active_shard()
    answer = write(shard, b"a", b"1")
    await asyncio.sleep(1)
    assert not answer.done()
    assert shard.machine.notes == {b"a": b"1"}  # the next step sees it
    fetch(on.partition, 1, 1)
    await asyncio.sleep(1)
    assert not answer.done()
    fetch(on.partition, 2, 1)
    assert await answer == "written"


@in_virtual_time
async def test_a_read_waits_for_what_it_shows() -> None:
    on = await stage(LED_HERE)
    shard = await on.active_shard()
    assert await read(shard, b"a") is None
    written = write(shard, b"a", b"1")
    seen = read(shard, b"a")
    await asyncio.sleep(1)
    assert not written.done()
    assert not seen.done()
    replicated(1, on)
    assert await seen == b"1"


@in_virtual_time
async def test_what_an_earlier_leader_left_uncommitted_is_shown_when_it_is_committed() -> None:
    on = await stage(LED_HERE)
    written = write(await on.active_shard(), b"a", b"1")
    await asyncio.sleep(1)
    assert not written.done()
    later = replace(LED_HERE, leader_epoch=EPOCH + 1, partition_epoch=LED_HERE.partition_epoch + 1)
    await on.partition.become(later)
    shard = await on.active_shard()
    assert shard.machine.notes == {b"a": b"1"}
    seen = read(shard, b"a")
    await asyncio.sleep(1)
    assert not seen.done()


@in_virtual_time
async def test_steps_of_one_turn_see_each_other_and_are_one_batch() -> None:
    on = await stage()
    shard = await on.active_shard()
    answers = [write(shard, b"a", b"%d" % number) for number in range(5)]
    answers.append(read(shard, b"a"))
    assert await asyncio.gather(*answers) == ["written"] * 5 + [b"4"]
    assert on.partition.log.active.header_at(0).record_count == 5


@in_virtual_time
async def test_a_partition_below_its_minimum_refuses_and_changes_nothing() -> None:
    on = await stage(LED_HERE, min_insync_replicas=2)
    shard = await on.active_shard()
    lonely = replace(LED_HERE, isr=(0,), partition_epoch=LED_HERE.partition_epoch + 1)
    await on.partition.become(lonely)
    assert await write(shard, b"a", b"1") == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (shard.machine.notes, on.partition.log.end_offset) == ({}, 0)
    assert await read(shard, b"a") is None


@in_virtual_time
async def test_a_write_that_is_not_committed_in_time_may_be_later() -> None:
    on = await stage(LED_HERE)
    shard = await on.active_shard()
    answer = write(shard, b"a", b"1")
    await asyncio.sleep(4.9)
    assert not answer.done()
    await asyncio.sleep(0.2)
    assert answer.result().code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shard.machine.notes == {b"a": b"1"}
    replicated(1, on)
    assert await read(shard, b"a") == b"1"


@in_virtual_time
async def test_nobody_is_answered_while_the_partition_is_loaded() -> None:
    on = await stage()
    earlier = await on.active_shard()
    await write(earlier, b"a", b"1")
    earlier.close()
    shard = on.shard()
    with pytest.raises(KafkaError) as refused:
        await read(shard, b"a")
    assert refused.value.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    told = CoordinatorRecord(b"told while loading", b"1")
    shard.tell(lambda machine, now: Step([told]))
    await until(lambda: shard.state is ShardState.ACTIVE)
    assert await read(shard, b"a") == b"1"
    assert await read(shard, b"told while loading") == b"1"
    assert shard.machine.was_loaded


@in_virtual_time
async def test_all_batches_of_all_reads_are_loaded() -> None:
    """KAFKA-5600 applied only the last batch of each read."""
    on = await stage(segment_bytes=2000)
    writer = await on.active_shard()
    for number in range(300):
        await write(writer, b"%d" % (number % 100), b"%d" % number)
    writer.close()
    assert len(on.partition.log.segments) > 3
    for buffer_bytes in (1, 500, 1 << 20):
        on.settings = ShardSettings(load_buffer_bytes=buffer_bytes, commit_timeout_s=5)
        shard = await on.active_shard()
        assert shard.machine.notes == {b"%d" % n: b"%d" % (n + 200) for n in range(100)}
        shard.close()


@in_virtual_time
async def test_who_waits_is_turned_away_when_the_leadership_ends() -> None:
    on = await stage(LED_HERE)
    shard = await on.active_shard()
    uncommitted = write(shard, b"a", b"1")
    waiting = shard.ask(lambda machine, ticket, now: machine.wait(ticket, b"b"))
    await asyncio.sleep(1)
    unseen = write(shard, b"b", b"1")  # not even decided
    await on.partition.become(replace(LED_HERE, leader=1, leader_epoch=EPOCH + 1))
    for each in (uncommitted, waiting, unseen):
        assert each.result().code == ErrorCode.NOT_COORDINATOR
    await asyncio.sleep(1)
    assert on.partition.log.end_offset == 1
    with pytest.raises(KafkaError) as refused:
        await write(shard, b"c", b"1")
    assert refused.value.code == ErrorCode.NOT_COORDINATOR


@in_virtual_time
async def test_a_shard_of_an_epoch_that_is_over_writes_nothing_in_the_next() -> None:
    on = await stage()
    shard = await on.active_shard()
    unseen = write(shard, b"a", b"1")
    await on.partition.become(replace(ALONE, leader_epoch=EPOCH + 1))
    assert unseen.result().code == ErrorCode.NOT_COORDINATOR
    await asyncio.sleep(1)
    assert on.partition.log.end_offset == 0


@in_virtual_time
async def test_later_steps_wait_for_an_append_that_waits_for_a_segment() -> None:
    on = await stage(segment_bytes=300)
    shard = await on.active_shard()
    answers = []
    for number in range(20):
        answers.append(write(shard, b"a", b"%d" % number * 50))
        if number % 3 == 0:
            await asyncio.sleep(0)
    answers.append(read(shard, b"a"))
    results = await asyncio.gather(*answers)
    assert results[:-1] == ["written"] * 20
    assert results[-1] == b"19" * 50
    assert len(on.partition.log.segments) > 5
    assert (await on.active_shard()).machine.notes == shard.machine.notes


@in_virtual_time
async def test_a_failed_append_costs_the_state_that_the_log_does_not_have() -> None:
    disk = MemoryDisk()
    on = await stage(disk=disk)
    shard = await on.active_shard()
    await write(shard, b"a", b"1")
    waiting = shard.ask(lambda machine, ticket, now: machine.wait(ticket, b"b"))
    await asyncio.sleep(0)

    def fails(*args: object, **kwargs: object) -> None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no")

    on.partition.append_at_once = fails  # type: ignore[method-assign]
    lost = write(shard, b"a", b"2")
    await until(lost.done)
    assert lost.result().code == ErrorCode.NOT_COORDINATOR
    assert waiting.result().code == ErrorCode.NOT_COORDINATOR
    del on.partition.append_at_once
    await until(lambda: shard.state is ShardState.ACTIVE)
    assert await read(shard, b"a") == b"1"
    assert await write(shard, b"a", b"3") == "written"


@in_virtual_time
async def test_a_request_that_fails_by_a_mistake_of_ours_is_lost_alone() -> None:
    on = await stage()
    shard = await on.active_shard()
    broken = shard.ask(lambda machine, ticket, now: machine.no_such_method())  # type: ignore[attr-defined]
    fine = write(shard, b"a", b"1")
    assert (await broken).code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert await fine == "written"


@in_virtual_time
async def test_a_step_is_one_batch_however_small_the_batches_are() -> None:
    on = await stage(max_message_bytes=1000)
    shard = await on.active_shard()
    some = [CoordinatorRecord(b"%d" % n, b"x" * 80) for n in range(6)]
    whole = [shard.ask(lambda m, ticket, now: m.write_all(ticket, some)) for _ in range(3)]
    assert await asyncio.gather(*whole) == ["written"] * 3
    assert [each.record_count for each in _headers(on)] == [6, 6, 6]
    many = [CoordinatorRecord(b"%d" % n, b"y" * 80) for n in range(20)]
    too_large = await shard.ask(lambda m, ticket, now: m.write_all(ticket, many))
    assert too_large == ErrorCode.UNKNOWN_SERVER_ERROR
    assert b"19" not in shard.machine.notes
    split = await shard.ask(lambda m, ticket, now: m.write_all(ticket, many, is_atomic=False))
    assert split == "written"
    assert all(each.size <= 1000 for each in _headers(on))
    assert sum(each.record_count for each in _headers(on)) == 18 + 20


def _headers(on: Stage) -> list[BatchHeader]:
    segment = on.partition.log.active
    data = memoryview(segment.file.pread(segment.size, 0))
    return [header for _, header in iterate_headers(data)]


@in_virtual_time
async def test_ticks_come_when_they_are_due() -> None:
    on = await stage()
    shard = await on.active_shard()
    begun = asyncio.get_running_loop().time()
    shard.machine.deadline_s = begun + 10
    await read(shard, b"")
    await asyncio.sleep(9)
    assert shard.machine.ticks == []
    await asyncio.sleep(1.5)
    assert shard.machine.ticks[:1] == [pytest.approx(begun + 10, abs=0.01)]
    assert shard.machine.notes[b"tick"]


@in_virtual_time
async def test_a_refused_tick_is_not_tried_all_the_time() -> None:
    on = await stage(LED_HERE, min_insync_replicas=2)
    shard = await on.active_shard()
    lonely = replace(LED_HERE, isr=(0,), partition_epoch=LED_HERE.partition_epoch + 1)
    await on.partition.become(lonely)
    shard.machine.deadline_s = 0.0
    await read(shard, b"")
    await asyncio.sleep(10)
    assert 5 <= len(shard.machine.ticks) <= 12
    assert set(shard.machine.refusals) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


@in_virtual_time
async def test_a_full_disk_refuses_without_a_new_load() -> None:
    on = await stage()
    shard = await on.active_shard()
    await write(shard, b"a", b"1")
    machine = shard.machine

    async def no_room() -> None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is full")

    on.partition.before_append = no_room
    assert await write(shard, b"a", b"2") == ErrorCode.NOT_COORDINATOR
    assert await read(shard, b"a") == b"1"
    on.partition.before_append = None
    assert await write(shard, b"a", b"3") == "written"
    assert shard.machine is machine


def test_the_machine_of_these_tests_is_one() -> None:
    machine: Machine = Notes()
    assert machine.tickets() == []
