"""`broker transactions` against a node behind real sockets."""

from __future__ import annotations

import asyncio
import json

import pytest

from broker.api.find_coordinator import find_coordinator
from broker.cli.main import run
from broker.node import Node
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.nodes import running_node
from tests.unit.broker.api.nodes import ask, create_topic
from tests.unit.broker.api.test_write_txn_markers import PRODUCER, partition_of, write

Capture = pytest.CaptureFixture[str]


async def command(node: Node, capture: Capture, *arguments: object) -> tuple[int, str, str]:
    address = node.server.bound["PLAINTEXT"]
    words = ["transactions", arguments[0], "--bootstrap-server", f"{address.host}:{address.port}"]
    given = [str(each) for each in (*words, *arguments[1:])]
    code = await asyncio.to_thread(run, given)
    return code, *capture.readouterr()


async def begin(node: Node, transactional_id: str = "x") -> m.InitProducerIdResponse:
    """An ongoing transaction with partition t-0, as its coordinator knows it."""
    body = m.FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id])
    found = find_coordinator(node, ask(ApiKey.FIND_COORDINATOR, body))
    if asyncio.iscoroutine(found):
        await found
    asked = m.InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=60_000
    )
    async with asyncio.timeout(10):
        while True:
            made: m.InitProducerIdResponse = await node.ask_own_broker(
                ApiKey.INIT_PRODUCER_ID, asked
            )
            if not made.error_code:
                break
            await asyncio.sleep(0.01)
    added = m.AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=made.producer_id,
        producer_epoch=made.producer_epoch,
        verify_only=False,
        topics=[m.AddPartitionsToTxnTopic(name="t", partitions=[0])],
    )
    body_of_add = m.AddPartitionsToTxnRequest(transactions=[added])
    answer = await node.ask_own_broker(ApiKey.ADD_PARTITIONS_TO_TXN, body_of_add)
    [result] = answer.results_by_transaction[0].topic_results[0].results_by_partition
    assert result.partition_error_code == ErrorCode.NONE
    return made


async def test_an_open_transaction_is_listed_and_described(capsys: Capture) -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        made = await begin(node)
        code, out, _ = await command(node, capsys, "list", "--json")
        assert code == 0
        assert json.loads(out) == [
            {
                "transactionalId": "x",
                "state": "Ongoing",
                "producerId": made.producer_id,
                "coordinator": 1,
            }
        ]
        code, out, _ = await command(node, capsys, "describe", "x", "--json")
        shown = json.loads(out)
        assert (code, shown["state"], shown["partitions"]) == (0, "Ongoing", ["t-0"])
        code, out, _ = await command(node, capsys, "list", "--state", "Empty")
        assert (code, out) == (0, "")
        code, _, err = await command(node, capsys, "describe", "y")
        assert code == 1
        assert "'y' does not exist" in err


async def test_only_what_no_coordinator_knows_is_hanging_and_can_be_aborted(
    capsys: Capture,
) -> None:
    async with running_node() as node:
        await create_topic(node, "t")
        made = await begin(node)
        write(node, producer_id=made.producer_id, epoch=made.producer_epoch)
        search = ("find-hanging", "--max-transaction-timeout", 0)
        assert (await command(node, capsys, *search))[0] == 0
        write(node, producer_id=PRODUCER)
        code, out, err = await command(node, capsys, *search, "--topic", "t")
        assert code == 1
        assert out.startswith(f"partition: t-0  start offset: 1  producer id: {PRODUCER} ")
        assert "1 hanging" in err
        where = ("--topic", "t", "--partition", 0, "--start-offset")
        assert (await command(node, capsys, "abort", *where, 7))[0] == 1
        assert (await command(node, capsys, "abort", *where, 1))[0] == 0
        assert (await command(node, capsys, *search))[0] == 0
        assert partition_of(node).log.last_stable_offset == 0  # the other one goes on
