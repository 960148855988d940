"""A commit that some partitions refuse: what its outcome proves."""

from __future__ import annotations

import pytest

from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.coordinator import CommitRefusedError, GroupCoordinator
from harness.native.driver_errors import driver_error
from harness.native.errors import BrokerError
from tests.unit.broker.cli.scripted_broker import scripted
from tests.unit.harness.native.client_worlds import client_of

STALE = ErrorCode.STALE_MEMBER_EPOCH


async def refusal(*codes: ErrorCode) -> BrokerError:
    """The error of a commit of as many partitions, answered with these codes."""
    parts = [
        m.OffsetCommitResponsePartition(partition_index=index, error_code=code)
        for index, code in enumerate(codes)
    ]
    topics = [m.OffsetCommitResponseTopic(name="t", partitions=parts)]
    script = {ApiKey.OFFSET_COMMIT: [m.OffsetCommitResponse(topics=topics)]}
    async with scripted(script) as broker, client_of(broker.address) as client:
        offsets = {("t", index): 7 for index in range(len(codes))}
        with pytest.raises(BrokerError) as raised:
            await GroupCoordinator(client, "g").commit(
                offsets, generation=5, member_id="m", instance_id=None
            )
    return raised.value


async def test_a_commit_that_every_partition_refused_certainly_failed() -> None:
    error = await refusal(STALE, STALE)
    assert isinstance(error, CommitRefusedError)
    assert driver_error(error).harmless


@pytest.mark.parametrize("codes", [(ErrorCode.NONE, STALE), (STALE, ErrorCode.NONE)])
async def test_a_commit_that_one_partition_took_did_not_fail(codes: tuple[ErrorCode, ...]) -> None:
    """KIP-1251: partitions that the member owned in the older epoch already are committed."""
    error = await refusal(*codes)
    assert error.code == STALE
    assert not driver_error(error).harmless
