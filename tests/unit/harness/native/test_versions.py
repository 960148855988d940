"""Versions are pinned, drawn by the seed or the newest; and all that we serve can be spoken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.protocol.apis import API_VERSIONS, ApiKey
from harness.native.coordinator import GroupCoordinator
from harness.native.produce_queue import Delivered
from harness.native.reader import EARLIEST, FetchSettings
from harness.native.versions import Versions, versions_of
from tests.nodes import running_node
from tests.unit.harness.native.client_worlds import HASTY, ScriptedBroker, client_of, scripted

SPOKEN = (
    *(ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.METADATA),
    *(ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.FIND_COORDINATOR),
    *(ApiKey.INIT_PRODUCER_ID, ApiKey.API_VERSIONS),
)


def test_draws_repeat_by_the_seed_and_differ_between_clients() -> None:
    def drawn(seed: int, client: str) -> list[int]:
        versions = versions_of("random", seed, client)
        return [versions.of(key, *API_VERSIONS[key]) for key in SPOKEN]

    assert drawn(1, "c1-0") == drawn(1, "c1-0")
    others = {tuple(drawn(seed, f"c{client}-0")) for seed in (1, 2) for client in range(20)}
    assert len(others) == 40
    for at, key in enumerate(SPOKEN):
        first, last = API_VERSIONS[key]
        met = {versions_of("random", seed, "c1-0").of(key, first, last) for seed in range(300)}
        assert met == set(range(first, last + 1)), (at, key)


def test_pins_are_spoken_and_the_rest_is_the_newest() -> None:
    versions = versions_of("Produce=9, ListOffsets=3", 1, "c1-0")
    assert versions.of(ApiKey.PRODUCE, 3, 13) == 9
    assert versions.of(ApiKey.LIST_OFFSETS, 1, 11) == 3
    assert versions.of(ApiKey.FETCH, 4, 18) == 18


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("oldest", "pins nothing; try newest, random, or Produce=9"),
        ("Produce=new", "pins nothing"),
        ("", "pins nothing"),
        ("Produced=9", "there is no API 'Produced'"),
        ("Produce=14", "versions 3 to 13 are known"),
    ],
)
def test_what_is_no_choice_of_versions_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        versions_of(text, 1, "c1-0")


async def test_a_drawn_version_is_within_what_a_call_needs_and_the_broker_serves() -> None:
    broker = ScriptedBroker()
    broker.served[ApiKey.FETCH] = (6, 11)
    for share in (0.0, 0.999):
        drawn = replace(HASTY, versions=Versions(draw=lambda key, share=share: share))  # type: ignore[misc]
        async with scripted(broker), client_of(broker.address, settings=drawn) as client:
            connection = await client.nodes.connection(-1)
            assert connection.version_of(ApiKey.FETCH) == (11 if share else 6)
            bounded = connection.version_of(ApiKey.FETCH, at_least=8, at_most=9)
            assert bounded == (9 if share else 8)


async def test_the_oldest_and_the_newest_versions_write_read_and_commit() -> None:
    slot = ("t", 0)
    async with running_node() as node, client_of(node.advertised) as client:
        await client.admin.create_topic("t")
        for at, share in enumerate((0.0, 0.25, 0.5, 0.75, 0.999)):
            drawn = replace(HASTY, versions=Versions(draw=lambda key, share=share: share))  # type: ignore[misc]
            async with client_of(node.advertised, settings=drawn) as other:
                assert await other.producer().send("t", 0, b"%d" % at) == Delivered(at)
                reader = other.reader()
                begin = (await reader.list_offset("t", 0, EARLIEST)).offset
                fetched = await reader.fetch("t", 0, begin, FetchSettings(max_wait_s=0.0))
                assert [each.value for each in fetched.records] == [
                    b"%d" % n for n in range(at + 1)
                ]
                coordinator = GroupCoordinator(other, "g")

                async def commit(to: int = at, by: GroupCoordinator = coordinator) -> None:
                    await by.commit({slot: to}, generation=-1, member_id="", instance_id=None)

                await other.retried(commit)
                assert await coordinator.committed([slot]) == {slot: at}
