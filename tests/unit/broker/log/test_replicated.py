"""Batches that come from a leader: their offsets are given."""

from __future__ import annotations

import pytest

from broker.disk.interface import Disk
from broker.protocol.errors import ErrorCode, KafkaError
from tests.unit.broker.log.builders import batch, crashed, open_log, values

FAR = 2**30
TOO_FAR = 2**31


async def test_a_hole_that_an_index_cannot_name_needs_a_new_segment(disk: Disk) -> None:
    log = await open_log(disk)
    log.append_replicated(batch(b"a", offset=0, leader_epoch=0))
    log.append_replicated(batch(b"b", offset=FAR, leader_epoch=0))
    near, far = (batch(b"c", offset=n, leader_epoch=0) for n in (FAR + 1, TOO_FAR))
    assert log.can_append_replicated(near)
    assert not log.can_append_replicated(far)
    with pytest.raises(KafkaError) as refused:
        log.append_replicated(far)
    assert refused.value.code is ErrorCode.INVALID_RECORD
    await log.roll()
    assert log.can_append_replicated(far)
    log.append_replicated(far)
    assert log.end_offset == TOO_FAR + 1
    await log.flush()
    log = await crashed(log)
    assert await values(log) == [b"a", b"b", b"c"]
    await log.close()


async def test_a_hole_beyond_any_index_is_refused(disk: Disk) -> None:
    log = await open_log(disk)
    log.append_replicated(batch(b"a", offset=0, leader_epoch=0))
    beyond = batch(b"b", offset=2**33, leader_epoch=0)
    assert not log.can_append_replicated(beyond)
    await log.roll()
    assert log.can_append_replicated(beyond), "or its writer would roll for ever"
    with pytest.raises(KafkaError):
        log.append_replicated(beyond)
    assert log.end_offset == 1
    await log.close()
