"""wire: faults of single messages on the simulated network."""

from __future__ import annotations

from harness.cluster.capabilities import Wire
from harness.sim.simulation import Simulation
from harness.wire.match import MessageFault, MessageFaults
from harness.wire.names import TopicNameOf


class PlaceWire:
    """To be made before the first connection: each is watched from its beginning or not at all."""

    def __init__(self, simulation: Simulation, topic_name_of: TopicNameOf) -> None:
        self._simulation = simulation
        network = simulation.network
        if network.message_faults is None:
            network.message_faults = MessageFaults(topic_name_of=topic_name_of)
        self._faults = network.message_faults
        self._added: list[str] = []

    async def add(self, fault: MessageFault) -> None:
        self._faults.add(fault)
        self._added.append(fault.name)
        self._tell("fault", fault.name)

    async def hits(self, name: str) -> int:
        return self._faults.hits(name)

    async def answers(self, name: str) -> dict[str, int]:
        return self._faults.answers(name)

    async def heal(self) -> None:
        while self._added:
            name = self._added.pop()
            self._faults.remove(name)
            self._tell("heal", name)

    def _tell(self, kind: str, name: str) -> None:
        self._simulation.trace.emit(kind, "", detail=f"message fault {name}")


def _check(wire: PlaceWire) -> Wire:
    """Has mypy hold it to what nemeses expect."""
    return wire
