"""The rules on logs as they are on disk: what an effect asks for, a log can do."""

from __future__ import annotations

import pytest

from broker.disk.memory import MemoryDisk
from broker.log.log import Log
from broker.protocol.errors import ErrorCode
from broker.replication import follower as following
from broker.replication.fetch_check import OutOfRange, check_fetch
from tests.unit.broker.log.builders import append, batch, open_log, read_slice, values

LEADER_EPOCH = 9


async def log_of(*written: tuple[int, bytes]) -> Log:
    log = await open_log(MemoryDisk())
    for epoch, value in written:
        append(log, batch(value), leader_epoch=epoch)
    return log


async def answer_of(leader: Log, asked: following.Question) -> tuple[following.Answer, bytes]:
    answer = following.Answer(
        high_watermark=leader.high_watermark, log_start_offset=leader.start_offset
    )
    problem = check_fetch(leader, asked.fetch_offset, asked.last_fetched_epoch)
    if isinstance(problem, OutOfRange):
        return answer._replace(error=ErrorCode.OFFSET_OUT_OF_RANGE), b""
    if problem is not None:
        return answer._replace(diverging=problem), b""
    found = await read_slice(leader, asked.fetch_offset)
    if found is None:
        return answer, b""
    return answer._replace(has_records=True), bytes(found.read())


async def carry_out(log: Log, effect: following.Effect, records: bytes) -> None:
    match effect:
        case following.Truncate(offset):
            await log.truncate_to(offset)
        case following.StartOver(offset):
            await log.truncate_fully_and_start_at(offset)
        case following.AppendRecords():
            log.append_replicated(memoryview(bytearray(records)))
        case following.AdvanceHighWatermark(offset):
            log.advance_high_watermark(offset)
        case following.RaiseLogStart(offset):
            await log.delete_records(offset)
        case following.Wait(error):
            raise AssertionError(f"nothing to wait for: {error}")


async def follow(leader: Log, follower: Log) -> int:
    """Until there is nothing to do; how many answers it took."""
    for count in range(20):
        asked = following.next_question(follower, LEADER_EPOCH)
        answer, records = await answer_of(leader, asked)
        effects = following.effects_of(follower, LEADER_EPOCH, asked, answer)
        if not effects:
            return count
        for effect in effects:
            await carry_out(follower, effect, records)
    raise AssertionError("they do not meet")


@pytest.mark.parametrize(
    ("of_leader", "of_follower"),
    [
        ([(0, b"a")], []),
        ([(0, b"a"), (2, b"c")], [(0, b"a"), (1, b"b")]),
        ([(0, b"a"), (2, b"c"), (4, b"e")], [(0, b"a"), (1, b"b"), (3, b"d")]),
        ([(3, b"a")], [(0, b"x"), (1, b"y"), (2, b"z")]),
        ([], [(0, b"x"), (1, b"y")]),
    ],
)
@pytest.mark.parametrize("led_in_vain", [False, True])
async def test_any_two_logs_meet(
    of_leader: list[tuple[int, bytes]], of_follower: list[tuple[int, bytes]], led_in_vain: bool
) -> None:
    leader, follower = await log_of(*of_leader), await log_of(*of_follower)
    await leader.assign_leader_epoch(LEADER_EPOCH)
    leader.advance_high_watermark(leader.end_offset)
    if led_in_vain:
        await follower.assign_leader_epoch(LEADER_EPOCH - 1)
    await follow(leader, follower)
    assert await values(follower) == await values(leader)
    assert follower.high_watermark == leader.end_offset
    written = [epoch for epoch, _ in of_leader]
    assert [entry.epoch for entry in follower.epochs.entries] == written
    await leader.close()
    await follower.close()


@pytest.mark.parametrize("follower_has", [1, 2, 3])
async def test_a_leader_that_begins_later_is_followed_from_there(follower_has: int) -> None:
    leader = await log_of((0, b"a"), (3, b"b"), (4, b"c"))
    await leader.assign_leader_epoch(LEADER_EPOCH)
    leader.advance_high_watermark(3)
    await leader.delete_records(2)
    follower = await log_of(*[(0, b"x")] * follower_has)
    await follow(leader, follower)
    assert (follower.start_offset, follower.high_watermark, follower.end_offset) == (2, 3, 3)
    assert await values(follower) == [b"c"]
    await leader.close()
    await follower.close()


async def test_a_level_follower_keeps_its_producers_when_records_are_deleted() -> None:
    leader = await log_of()
    append(leader, batch(producer_id=7, sequence=0), leader_epoch=LEADER_EPOCH)
    follower = await log_of()
    leader.advance_high_watermark(1)
    await follow(leader, follower)
    await leader.delete_records(1)
    await follow(leader, follower)
    assert follower.start_offset == 1
    assert 7 in follower.producers.producers
    await leader.close()
    await follower.close()
