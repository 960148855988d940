"""Bursts whose replies are dropped or falsified, in virtual time: idempotence is what it takes."""

from __future__ import annotations

from typing import Any

from broker.protocol.errors import ErrorCode
from checkers import check
from checkers.contract import Contract
from harness.client.base import Batching, Completion
from harness.wire.match import Drop, Matcher, MessageFault, ReplaceByError
from tests.unit.checkers.stories import told
from tests.unit.harness.sim.places import Placed, on_simulated_nodes
from tests.unit.harness.sim.test_sim_client import AtWork, make_topic
from workloads.logs import LOG_CHECKERS

COUNT = 12
BURST = [["send", "t-0", value] for value in range(COUNT)]
SETTINGS: dict[str, Any] = {"delivery_timeout_ms": 120_000, "batching": Batching(batch_bytes=100)}
REPLY = Matcher(api="Produce", direction="reply", client_id="c1-0", nth=2)


async def sent_and_read(placed: Placed, **settings: Any) -> tuple[Completion, list[list[Any]]]:
    await make_topic(placed, 1, 2, 3)
    async with AtWork(placed, **SETTINGS, **settings) as do:
        sent = await do("send", BURST)
        (read,) = (await do("txn", [["r", "t-0", None]])).value
    return sent, [list(pair) for pair in enumerate(read[2])]


def found(sent: Completion, log: list[list[Any]]) -> set[str]:
    history = told(
        (0, sent.type, "send", sent.value),
        (1, "ok", "poll", [["poll", {"t-0": log}]]),
    )
    verdicts = check(history, Contract(), LOG_CHECKERS)
    return {anomaly.type for verdict in verdicts for anomaly in verdict.anomalies}


@on_simulated_nodes(3)
async def test_an_idempotent_producer_whose_replies_are_dropped_appends_once(
    placed: Placed,
) -> None:
    await placed.wire.add(MessageFault("lost", REPLY, Drop(), times=10))
    sent, log = await sent_and_read(placed)
    assert await placed.wire.hits("lost") == 10
    assert sent.value == [["send", "t-0", [value, value]] for value in range(COUNT)]
    assert [value for _, value in log] == list(range(COUNT))
    assert not found(sent, log)


@on_simulated_nodes(3)
async def test_without_idempotence_a_dropped_reply_makes_duplicates(placed: Placed) -> None:
    """The double charge: the first copy was written, and nobody was told so."""
    await placed.wire.add(MessageFault("lost", REPLY, Drop()))
    sent, log = await sent_and_read(placed, enable_idempotence=False)
    assert sent.type == "ok"
    assert len(log) > COUNT
    assert {"duplicate", "int-nonmonotonic-poll"} <= found(sent, log)


@on_simulated_nodes(3)
async def test_without_idempotence_a_refused_batch_is_overtaken(placed: Placed) -> None:
    """It is sent again behind the batches that were in flight with it."""
    refused = ReplaceByError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await placed.wire.add(MessageFault("refused", REPLY, refused))
    sent, log = await sent_and_read(placed, enable_idempotence=False)
    assert sent.type == "ok"
    assert {"duplicate", "producer-order"} <= found(sent, log)


@on_simulated_nodes(3)
async def test_an_idempotent_batch_that_is_refused_falsely_keeps_its_place(placed: Placed) -> None:
    refused = ReplaceByError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await placed.wire.add(MessageFault("refused", REPLY, refused))
    sent, log = await sent_and_read(placed)
    assert [value for _, value in log] == list(range(COUNT))
    assert not found(sent, log)
