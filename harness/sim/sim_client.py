"""Our own client (harness/native) inside the simulation: its network, its dice, virtual time."""

from __future__ import annotations

from harness.client.base import ClientSettings
from harness.client.kafka_client import KafkaClient
from harness.native.driver import NativeDriver, Surroundings
from harness.sim.clock import START_MS
from harness.sim.simulation import Simulation


class SimClient(KafkaClient):
    def __init__(
        self, simulation: Simulation, host: str, settings: ClientSettings, client_id: str
    ) -> None:
        """`client_id` decides about the client's dice, so it must be nobody else's."""

        def now_ms() -> int:
            """Clients have a clock that no fault touches."""
            return START_MS + int(simulation.now_s * 1000)

        def now_ns() -> int:
            return simulation.loop.now_ns

        surroundings = Surroundings(
            network=simulation.network.of(host),
            random=simulation.decisions.random("client", client_id),
            now_ms=now_ms,
            now_ns=now_ns,
        )
        driver = NativeDriver(surroundings, settings, client_id)
        super().__init__(driver, now_ms=now_ms, now_ns=now_ns)
