"""Requests reach the active controller: in this process, or by the connection to where it is."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from broker.network.interface import Address
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.to_controller import ToController
from tests.unit.broker.peers.fake_network import FakeNetwork
from tests.virtual_time import in_virtual_time

BEAT = ApiKey.BROKER_HEARTBEAT


class Stage:
    """Node 1 of three, on a network that the test answers for."""

    def __init__(self) -> None:
        self.leader_id: int | None = None
        self.network = FakeNetwork()
        self.here_takes_s = 0.0
        self.asked_here: list[tuple[ApiKey, Any]] = []
        self.to_controller = ToController(
            "beats",
            node_id=1,
            leader_id=lambda: self.leader_id,
            here=self._here,
            voters={node: Address(f"n{node}", 9093) for node in (1, 2, 3)},
            network=self.network,
            random=Random(1),
            backoff_s=0.1,
            backoff_max_s=1.0,
        )

    async def _here(self, api_key: ApiKey, body: Any) -> Any:
        self.asked_here.append((api_key, body))
        await asyncio.sleep(self.here_takes_s)
        return "from here"

    def ask(self, timeout_s: float = 2.0) -> asyncio.Future[Any]:
        body = m.BrokerHeartbeatRequest(broker_id=1)
        return asyncio.ensure_future(self.to_controller.ask(BEAT, body, timeout_s=timeout_s))


@in_virtual_time
async def test_this_node_answers_itself_without_a_connection() -> None:
    stage = Stage()
    stage.leader_id = 1
    assert await stage.ask() == "from here"
    assert [key for key, _ in stage.asked_here] == [BEAT]
    assert stage.network.attempts_at == []


@in_virtual_time
async def test_a_decision_here_that_takes_too_long_counts_as_unanswered() -> None:
    stage = Stage()
    stage.leader_id, stage.here_takes_s = 1, 60.0
    with pytest.raises(UnansweredError, match=r"BROKER_HEARTBEAT took more than 2\.0 s"):
        await stage.ask()
    assert asyncio.get_running_loop().time() == pytest.approx(2.0)


@in_virtual_time
async def test_each_request_goes_to_who_leads_by_then() -> None:
    stage = Stage()
    for leader_id in (2, 3, 2):
        stage.leader_id = leader_id
        waiting = stage.ask()
        await asyncio.sleep(0.01)
        asked = stage.network.asked.pop()
        assert asked.connection.peer == Address(f"n{leader_id}", 9093)
        assert asked.client_id == "beats-of-1"
        asked.answer(m.BrokerHeartbeatResponse(throttle_time_ms=leader_id))
        assert (await waiting).throttle_time_ms == leader_id
    assert len(stage.network.connections) == 2


@pytest.mark.parametrize("leader_id", [None, 9])
@in_virtual_time
async def test_without_a_controller_it_says_so_after_a_little_while(leader_id: int | None) -> None:
    stage = Stage()
    stage.leader_id = leader_id
    with pytest.raises(UnansweredError, match="no controller is known"):
        await stage.ask()
    # Not at once: whoever asks again in a loop would never let others run.
    assert 0.0 < asyncio.get_running_loop().time() <= 0.05


@in_virtual_time
async def test_an_end_closes_its_connections() -> None:
    stage = Stage()
    stage.leader_id = 2
    waiting = stage.ask()
    await asyncio.sleep(0.01)
    stage.to_controller.close()
    with pytest.raises(UnansweredError):
        await waiting
    assert stage.network.connections[0].is_closed
