"""The native client as a driver: what it makes of the settings of a run."""

from __future__ import annotations

import time
from random import Random

import pytest

from broker.network.sockets import SocketNetwork
from harness.client.base import Acks, ClientSettings
from harness.client.driver import Stored, ToStore, place_of
from harness.native.driver import NativeDriver, Surroundings
from tests.nodes import create_topic, running_node, wire


@pytest.mark.parametrize("acks", ["0", "1", "all"])
async def test_a_transaction_is_safe_whatever_the_run_says_of_acks(acks: Acks) -> None:
    async with running_node() as node, wire(node) as connection:
        await create_topic(connection, "t")
        settings = ClientSettings(
            bootstrap=f"{node.advertised.host}:{node.advertised.port}",
            acks=acks,
            enable_idempotence=False,
        )
        around = Surroundings(
            network=SocketNetwork(), random=Random(1), now_ms=lambda: 0, now_ns=time.monotonic_ns
        )
        driver = NativeDriver(around, settings, "c1")
        await driver.open()
        try:
            await driver.init_transactions("id", 10_000)
            await driver.begin_transaction()
            record = ToStore(place_of("t-0"), None, b"v", 0)
            [stored] = await driver.produce_in_transaction([record])
            assert isinstance(stored, Stored), stored
            assert stored.offset == 0
            await driver.commit_transaction()
        finally:
            await driver.close()
