"""FindCoordinator: it is always this node."""

import pytest

from broker.api.find_coordinator import find_coordinator
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.at_once import at_once
from tests.unit.broker.api.nodes import ask, running_node


@pytest.mark.parametrize("key_type", [0, 1])
async def test_one_key_is_answered_in_the_old_form(key_type: int) -> None:
    async with running_node() as node:
        body = m.FindCoordinatorRequest(key="g", key_type=key_type)
        found = at_once(find_coordinator(node, ask(ApiKey.FIND_COORDINATOR, body, 3)))
        assert (found.error_code, found.node_id, found.host, found.port) == (
            0,
            1,
            "localhost",
            9092,
        )


async def test_many_keys_are_answered_each() -> None:
    async with running_node() as node:
        body = m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h"])
        found = at_once(find_coordinator(node, ask(ApiKey.FIND_COORDINATOR, body)))
        assert [(each.key, each.node_id, each.error_message) for each in found.coordinators] == [
            ("g", 1, None),
            ("h", 1, None),
        ]


async def test_an_unknown_kind_of_coordinator_is_refused() -> None:
    async with running_node() as node:
        body = m.FindCoordinatorRequest(key_type=2, coordinator_keys=["g"])
        [found] = at_once(find_coordinator(node, ask(ApiKey.FIND_COORDINATOR, body))).coordinators
        assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, -1)
