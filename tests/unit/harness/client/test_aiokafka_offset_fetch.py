"""Errors of a whole group in OffsetFetch responses, which aiokafka overlooks by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import NotCoordinatorForGroupError
from aiokafka.protocol.commit import OffsetFetchResponse_v3

from harness.client.aiokafka_offset_fetch import respect_group_errors

NOT_COORDINATOR = 16


class Client:
    """Answers as a node does that does not coordinate the group."""

    async def send(self, node_id: int, request: Any, **options: Any) -> OffsetFetchResponse_v3:
        return OffsetFetchResponse_v3(throttle_time_ms=0, topics=[], error_code=NOT_COORDINATOR)


async def fetched(client: Client) -> Any:
    """The offsets as the library's coordinator reads them."""
    coordinator = SimpleNamespace(
        coordinator_id=1, group_id="g", _client=client, coordinator_dead=lambda: None
    )
    coordinator._send_req = lambda request: GroupCoordinator._send_req(coordinator, request)
    return await GroupCoordinator._do_fetch_commit_offsets(coordinator, [TopicPartition("t", 0)])


async def test_the_library_takes_a_moved_group_for_one_without_commits() -> None:
    """When this fails the library has been mended, and the module is not needed any more."""
    assert await fetched(Client()) == {}


async def test_an_error_of_the_group_is_raised() -> None:
    client = Client()
    respect_group_errors(SimpleNamespace(_client=client))
    with pytest.raises(NotCoordinatorForGroupError):
        await fetched(client)
