"""The file `quorum-state`: what a voter must not forget, or it would vote twice in one epoch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from broker.disk.interface import Disk
from broker.raft.events import QuorumState

_VERSION = 0
_NOBODY = -1


class QuorumStateError(Exception):
    """The file cannot be believed, or was written for another set of voters. For the user."""


@dataclass(frozen=True, slots=True)
class QuorumStateFile:
    disk: Disk
    path: str
    voters: Sequence[int]

    async def read(self) -> QuorumState:
        try:
            content = await self.disk.read(self.path)
        except FileNotFoundError:
            return QuorumState(epoch=0, voted_for=None, leader_id=None)
        try:
            plain = json.loads(content)
            if plain["data_version"] != _VERSION:
                raise QuorumStateError(
                    f"{self.path} has version {plain['data_version']}, only {_VERSION} is known"
                )
            state = QuorumState(
                epoch=int(plain["leaderEpoch"]),
                voted_for=_node(plain["votedId"]),
                leader_id=_node(plain["leaderId"]),
            )
            voters = sorted(int(each["voterId"]) for each in plain["currentVoters"])
        except (ValueError, KeyError, TypeError) as error:
            raise QuorumStateError(
                f"{self.path} is damaged ({error}); without it this node might vote twice in one "
                "epoch. Restore it from a copy, or wipe this node's data and let it join anew"
            ) from error
        if voters != sorted(self.voters):
            raise QuorumStateError(
                f"{self.path} was written for the voters {voters}, but controller.quorum.voters "
                f"names {sorted(self.voters)}; two sets of voters could elect two leaders"
            )
        return state

    async def write(self, state: QuorumState) -> None:
        """Durable when it returns: no vote and no epoch is spoken before."""
        plain = {
            "leaderId": _NOBODY if state.leader_id is None else state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": _NOBODY if state.voted_for is None else state.voted_for,
            "currentVoters": [{"voterId": voter} for voter in sorted(self.voters)],
            "data_version": _VERSION,
        }
        await self.disk.replace(self.path, json.dumps(plain).encode() + b"\n")


def _node(number: object) -> int | None:
    if not isinstance(number, int):
        raise TypeError(f"{number!r} is no node")
    return None if number == _NOBODY else number
