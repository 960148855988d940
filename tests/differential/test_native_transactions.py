"""Our own client's transactions against Apache Kafka, which judges the client."""

from __future__ import annotations

import time
from random import Random

import pytest

from broker.network.interface import Address
from broker.network.sockets import SocketNetwork
from harness.native.client import Client
from harness.native.settings import ClientSettings
from harness.native.versions import versions_of
from tests.differential.systems import KAFKA, running_systems
from tests.unit.harness.native.transaction_stories import FIRST, SECOND, tell_story

pytestmark = [pytest.mark.differential, pytest.mark.slow, pytest.mark.timeout(180)]

OLDEST = "Produce=9,EndTxn=1,AddPartitionsToTxn=0,TxnOffsetCommit=3,InitProducerId=4"


def client(address: str, pins: str) -> Client:
    host, _, port = address.rpartition(":")
    return Client(
        SocketNetwork(),
        [Address(host, int(port))],
        random=Random(7),
        now_ms=lambda: time.time_ns() // 1_000_000,
        settings=ClientSettings(versions=versions_of(pins, 0, "c")),
    )


async def test_kafka_takes_both_protocols() -> None:
    stories = [("first", FIRST), ("second", SECOND), ("oldest", OLDEST)]
    with running_systems([KAFKA]) as (system,):
        for name, pins in stories:
            async with client(system.address, pins) as one, client(system.address, pins) as other:
                await tell_story(one, other, name, uses_protocol_2=pins == SECOND)
