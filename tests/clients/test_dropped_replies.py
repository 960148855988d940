"""Replies dropped on their way to real clients: once with idempotence, twice without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkers import check
from checkers.contract import Contract
from harness.client.base import Batching
from harness.wire.match import Drop, Matcher, MessageFault
from tests.clients.test_harness_clients import do, opened, well
from tests.cluster.clusters import running
from tests.cluster.confluent import create_topic
from tests.unit.checkers.stories import told
from workloads.logs import LOG_CHECKERS

pytestmark = [pytest.mark.clients, pytest.mark.slow]

COUNT = 100
BURST = [["send", "t-0", value] for value in range(COUNT)]
REPLY = Matcher(api="Produce", direction="reply", client_id="c1-0")


async def sent_and_read(
    tmp_path: Path, library: str, times: int, **settings: Any
) -> tuple[list[Any], list[int]]:
    patience = {"delivery_timeout_ms": 60_000, "request_timeout_ms": 500}
    small = Batching(batch_bytes=512)
    async with running(tmp_path, 1, wire=True) as (cluster, _):
        await create_topic(cluster, "t", partitions=1, replicas=1)
        assert cluster.wire is not None
        await cluster.wire.add(MessageFault("lost", REPLY, Drop(), times=times))
        chosen = {**patience, "batching": small, **settings}
        async with opened(library, cluster.bootstrap(), **chosen) as client:
            sent = await do(client, "send", BURST)
            assert sent.type == "ok", sent
            assert await cluster.wire.hits("lost") == times
            ((_, _, log),) = await well(client, "txn", [["r", "t-0", None]])
    return sent.value, log


def found(sent: list[Any], log: list[int]) -> set[str]:
    records = [list(pair) for pair in enumerate(log)]
    history = told((0, "ok", "send", sent), (1, "ok", "poll", [["poll", {"t-0": records}]]))
    verdicts = check(history, Contract(), LOG_CHECKERS)
    return {anomaly.type for verdict in verdicts for anomaly in verdict.anomalies}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("library", ["confluent", "aiokafka"])
async def test_a_producer_whose_reply_is_dropped_ten_times_appends_once(
    library: str, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {}
    if library == "aiokafka":
        # The time-out of its requests is also that of `send` while a batch is full: one batch,
        # then, that takes all records.
        settings = {"producer_config": {"request.timeout.ms": "500"}, "batching": Batching()}
    sent, log = await sent_and_read(tmp_path, library, times=10, **settings)
    assert log == list(range(COUNT))
    assert not found(sent, log)


@pytest.mark.timeout(60)
async def test_without_idempotence_it_appends_twice_and_is_found(tmp_path: Path) -> None:
    sent, log = await sent_and_read(tmp_path, "confluent", times=1, enable_idempotence=False)
    assert len(log) > COUNT
    assert set(log) == set(range(COUNT))
    assert "duplicate" in found(sent, log)
