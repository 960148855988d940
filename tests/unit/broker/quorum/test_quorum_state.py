"""What a voter must not forget survives a loss of power; what cannot be believed is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.disk.memory import MemoryDisk
from broker.quorum.quorum_state import QuorumStateError, QuorumStateFile
from broker.raft.events import QuorumState

PATH = "quorum-state"
VOTERS = (1, 2, 3)


def file_on(disk: MemoryDisk, voters: tuple[int, ...] = VOTERS) -> QuorumStateFile:
    return QuorumStateFile(disk, PATH, voters)


async def written(state: QuorumState) -> MemoryDisk:
    disk = MemoryDisk()
    await file_on(disk).write(state)
    return disk


STATES = [
    QuorumState(epoch=0, voted_for=None, leader_id=None),
    QuorumState(epoch=7, voted_for=3, leader_id=None),
    QuorumState(epoch=9, voted_for=None, leader_id=2),
    QuorumState(epoch=2**31 - 1, voted_for=0, leader_id=0),
]


@pytest.mark.parametrize("state", STATES)
async def test_what_is_written_is_durable_at_once(state: QuorumState) -> None:
    disk = await written(state)
    disk.power_loss()
    assert await file_on(disk).read() == state


async def test_a_node_that_never_voted_has_no_file() -> None:
    assert await file_on(MemoryDisk()).read() == STATES[0]


async def test_the_file_has_kafkas_fields() -> None:
    disk = await written(STATES[1])
    assert json.loads(await disk.read(PATH)) == {
        "leaderId": -1,
        "leaderEpoch": 7,
        "votedId": 3,
        "currentVoters": [{"voterId": 1}, {"voterId": 2}, {"voterId": 3}],
        "data_version": 0,
    }


async def refused(disk: MemoryDisk, voters: tuple[int, ...] = VOTERS) -> str:
    before = await disk.read(PATH)
    with pytest.raises(QuorumStateError) as problem:
        await file_on(disk, voters).read()
    assert await disk.read(PATH) == before
    assert await disk.list("") == [PATH]
    return str(problem.value)


async def with_fields(**fields: Any) -> MemoryDisk:
    disk = await written(STATES[2])
    plain = {**json.loads(await disk.read(PATH)), **fields}
    await disk.replace(PATH, json.dumps(plain).encode())
    return disk


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 80, b"{", b"[]", b"7", b"\xff\xfe", b'{"data_version": 0, "leaderEpoch": 1}'],
)
async def test_a_damaged_file_is_refused_with_what_to_do(content: bytes) -> None:
    disk = MemoryDisk()
    await disk.replace(PATH, content)
    told = await refused(disk)
    assert told.startswith(f"{PATH} is damaged (")
    assert "might vote twice" in told
    assert "Restore it from a copy" in told


@pytest.mark.parametrize(
    "fields",
    [
        {"leaderEpoch": "many"},
        {"leaderEpoch": None},
        {"votedId": None},
        {"votedId": "3"},
        {"leaderId": [2]},
        {"currentVoters": None},
        {"currentVoters": [{"id": 1}]},
    ],
)
async def test_a_field_that_is_no_number_is_damage(fields: dict[str, Any]) -> None:
    assert "is damaged" in await refused(await with_fields(**fields))


@pytest.mark.parametrize("voters", [(1,), (1, 2), (1, 2, 3, 4), (1, 2, 4)])
async def test_a_file_for_other_voters_is_refused(voters: tuple[int, ...]) -> None:
    told = await refused(await written(STATES[2]), voters)
    assert (
        f"written for the voters [1, 2, 3], but controller.quorum.voters names {list(voters)}"
        in (told)
    )


async def test_the_order_of_the_voters_means_nothing() -> None:
    disk = await written(STATES[2])
    assert await file_on(disk, (3, 1, 2)).read() == STATES[2]


async def test_a_file_of_another_version_is_refused_whatever_its_fields_are() -> None:
    told = await refused(await with_fields(data_version=1, currentVoters="of another form"))
    assert told == f"{PATH} has version 1, only 0 is known"


async def test_a_crash_while_it_is_written_leaves_the_old_or_the_new() -> None:
    disk = await written(STATES[1])
    disk.fail("replace", PATH)
    with pytest.raises(OSError, match="Input/output"):
        await file_on(disk).write(STATES[2])
    disk.power_loss()
    disk.heal()
    assert await file_on(disk).read() == STATES[1]
