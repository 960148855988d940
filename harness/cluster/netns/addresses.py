"""Addresses of hosts. They mean something in their switch's namespace only, so they may repeat."""

from __future__ import annotations

from dataclasses import dataclass

from harness.cluster.capabilities import Node

CLIENTS: Node = "clients"
NODES_MAX = 99
MANAGEMENT_OF_SWITCH = "10.78.0.254"
_NUMBER_OF_CLIENTS = 100


@dataclass(frozen=True, slots=True)
class Address:
    """Of one host, by its number on the switch."""

    number: int

    @property
    def data(self) -> str:
        return f"10.77.0.{self.number}"

    @property
    def management(self) -> str:
        return f"10.78.0.{self.number}"

    @property
    def data_port(self) -> str:
        return f"data{self.number}"

    @property
    def management_port(self) -> str:
        return f"mgmt{self.number}"

    @property
    def data_mac(self) -> str:
        return f"02:77:00:00:00:{self.number:02x}"

    @property
    def management_mac(self) -> str:
        return f"02:78:00:00:00:{self.number:02x}"


def address_of(number: int) -> Address:
    """Of the n-th node, from 1."""
    if not 1 <= number <= NODES_MAX:
        raise ValueError(f"the switch has ports for {NODES_MAX} nodes, not for number {number}")
    return Address(number)


CLIENTS_ADDRESS = Address(_NUMBER_OF_CLIENTS)
