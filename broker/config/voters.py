"""Reads `controller.quorum.voters`: who votes in the quorum, and where each one listens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from broker.config.listeners import ListenerEntry
from broker.config.values import WrongValueError
from broker.network.interface import Address

_ENTRY = re.compile(r"^(\d{1,9})@(\[[0-9a-fA-F:.%]+\]|[^\[\]:/@]+):(\d{1,5})$")


class Voter(NamedTuple):
    node_id: int
    address: Address


def parse_voters(entries: Sequence[str]) -> tuple[Voter, ...]:
    voters: dict[int, Voter] = {}
    for entry in entries:
        match = _ENTRY.match(entry)
        if match is None or not 0 < int(match[3]) <= 65535:
            raise WrongValueError(f"{entry!r} is not id@host:port")
        voter = Voter(int(match[1]), Address(match[2].strip("[]"), int(match[3])))
        if voter.node_id in voters:
            raise WrongValueError(f"node {voter.node_id} comes twice")
        if any(voter.address == other.address for other in voters.values()):
            raise WrongValueError(f"{voter.address} comes twice; each voter needs its own")
        voters[voter.node_id] = voter
    return tuple(voters.values())


def check_roles(
    voters: Sequence[Voter],
    *,
    node_id: int,
    roles: Sequence[str],
    listeners: Sequence[ListenerEntry],
    controller_names: Sequence[str],
) -> None:
    """Whether the voters fit what this node is said to be."""
    names = {voter.node_id for voter in voters}
    is_controller = "controller" in roles
    if not voters:
        if not is_controller:
            raise WrongValueError("is missing: a node that is only a broker needs controllers")
        if "broker" not in roles:
            raise WrongValueError("is missing: a node that is only a controller needs it")
        return
    if is_controller and node_id not in names:
        raise WrongValueError(
            f"does not name node {node_id}, which has the controller role; add it, or take the "
            "role away"
        )
    if not is_controller and node_id in names:
        raise WrongValueError(f"names node {node_id}, which does not have the controller role")
    if (
        is_controller
        and (len(voters) > 1 or "broker" not in roles)
        and not any(entry.name in controller_names for entry in listeners)
    ):
        raise WrongValueError(
            "names a controller, but none of listeners is in controller.listener.names"
        )
