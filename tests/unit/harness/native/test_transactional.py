"""Transactions are atomic by both protocols, and what is not known to be committed is called so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.produce_queue import Failed
from harness.native.reader import READ_COMMITTED
from harness.native.transaction_errors import (
    TransactionErrorKind,
    TransactionFailedError,
    kind_of,
)
from harness.native.transactional import Standing
from harness.native.versions import versions_of
from harness.wire.message import Direction, Message
from tests.nodes import running_node
from tests.unit.harness.native.client_worlds import HASTY, CuttingNetwork, client_of
from tests.unit.harness.native.transaction_stories import FIRST, SECOND, sent, tell_story, values


@pytest.mark.parametrize(("pins", "uses_protocol_2"), [(FIRST, False), (SECOND, True)])
async def test_committed_records_are_read_and_no_others(pins: str, uses_protocol_2: bool) -> None:
    settings = replace(HASTY, versions=versions_of(pins, 0, "c"))
    async with (
        running_node() as node,
        client_of(node.advertised, settings=settings) as client,
        client_of(node.advertised, settings=settings) as other,
    ):
        await tell_story(client, other, "story", uses_protocol_2=uses_protocol_2)


def _cutting(key: ApiKey, direction: Direction, count: int) -> CuttingNetwork:
    """Connections that break before so many messages of this kind."""
    cuts = iter(range(count))

    def decide(message: Message) -> str:
        is_meant = message.api_key == key and message.direction == direction
        return "cut before" if is_meant and next(cuts, None) is not None else "pass"

    return CuttingNetwork(decide)


@pytest.mark.parametrize("pins", [FIRST, SECOND])
@pytest.mark.parametrize("direction", ["request", "reply"])
async def test_a_commit_without_an_answer_is_asked_for_again(
    pins: str, direction: Direction
) -> None:
    settings = replace(HASTY, versions=versions_of(pins, 0, "c"))
    network = _cutting(ApiKey.END_TXN, direction, 2)
    async with (
        running_node() as node,
        client_of(node.advertised, network=network, settings=settings) as client,
    ):
        await client.admin.create_topic("t", partitions=2)
        producer = client.transactional_producer("id")
        await producer.init()
        producer.steps()
        for value in (b"a", b"b"):
            producer.begin()
            await sent(producer, "t", [value])
            await producer.commit()
        answers = [step.answer for step in producer.steps() if step.api == ApiKey.END_TXN]
        assert answers.count("(no answer)") == network.cuts == 2
        await producer.init()
        assert await values(client, "t", READ_COMMITTED) == [b"a", b"b"]


async def test_a_commit_that_is_never_answered_is_unknown() -> None:
    settings = replace(HASTY, call_timeout_s=0.1)
    network = _cutting(ApiKey.END_TXN, "reply", 1000)
    async with (
        running_node() as node,
        client_of(node.advertised) as witness,
        client_of(node.advertised, network=network, settings=settings) as client,
    ):
        await witness.admin.create_topic("t", partitions=2)
        producer = client.transactional_producer("id")
        await witness.transactional_producer("id").init()  # the coordinator is there
        await producer.init()
        producer.begin()
        await sent(producer, "t", [b"a"])
        with pytest.raises(TransactionFailedError) as unknown:
            await producer.commit()
        assert (unknown.value.kind, unknown.value.is_definite) == (
            TransactionErrorKind.UNKNOWN,
            False,
        )
        assert producer.standing is Standing.OVER


async def test_a_transaction_with_a_refused_batch_can_only_be_aborted() -> None:
    """And then the producer goes on."""
    async with running_node() as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t", partitions=2, configs={"max.message.bytes": "1000"})
        producer = client.transactional_producer("id")
        await producer.init()
        producer.begin()
        await sent(producer, "t", [b"a"])
        refused = await producer.submit("t", 0, [(None, b"x" * 2000)])
        assert isinstance(refused, Failed)
        with pytest.raises(TransactionFailedError) as problem:
            await producer.commit()
        assert (problem.value.kind, problem.value.is_definite) == (
            TransactionErrorKind.ABORTABLE,
            True,
        )
        await producer.abort()
        producer.begin()
        await sent(producer, "t", [b"b"])
        await producer.commit()
        await producer.init()
        assert await values(client, "t", READ_COMMITTED) == [b"b"]


async def test_outside_of_a_transaction_nothing_is_sent() -> None:
    async with running_node() as node, client_of(node.advertised) as client:
        producer = client.transactional_producer("id")
        assert isinstance(await producer.submit("t", 0, [(None, b"a")]), Failed)
        with pytest.raises(TransactionFailedError):
            producer.begin()


@pytest.mark.parametrize(
    ("api", "code", "kind"),
    [
        (ApiKey.END_TXN, ErrorCode.PRODUCER_FENCED, TransactionErrorKind.FENCED),
        (ApiKey.END_TXN, ErrorCode.INVALID_PRODUCER_EPOCH, TransactionErrorKind.FENCED),
        (ApiKey.PRODUCE, ErrorCode.INVALID_PRODUCER_EPOCH, TransactionErrorKind.ABORTABLE),
        (ApiKey.PRODUCE, ErrorCode.PRODUCER_FENCED, TransactionErrorKind.FENCED),
        (ApiKey.END_TXN, ErrorCode.CONCURRENT_TRANSACTIONS, TransactionErrorKind.RETRIABLE),
        (ApiKey.END_TXN, ErrorCode.NOT_COORDINATOR, TransactionErrorKind.RETRIABLE),
        (ApiKey.END_TXN, ErrorCode.INVALID_TXN_STATE, TransactionErrorKind.FATAL),
        (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.ILLEGAL_GENERATION, TransactionErrorKind.ABORTABLE),
        (ApiKey.END_TXN, ErrorCode.TRANSACTION_ABORTABLE, TransactionErrorKind.ABORTABLE),
    ],
)
def test_errors_have_the_meaning_that_kafkas_clients_give_them(
    api: ApiKey, code: ErrorCode, kind: TransactionErrorKind
) -> None:
    assert kind_of(api, code) is kind
