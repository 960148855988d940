"""The reference broker as a system inside a simulation: the same settings, names and questions.

Questions go over the simulated network, from a process of the place and with our own client, so a
node that is cut off or stands still does not answer here either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from broker.network.interface import Address
from harness.cluster.base import Host, Node, PartitionState, Place, RunningProcess, System
from harness.cluster.errors import NoAnswerError, NodeFailedError
from harness.cluster.server_properties import (
    Member,
    Settings,
    properties_by_name,
    server_properties,
)
from harness.sim.client import Client
from harness.sim.client_errors import ClientError
from harness.sim.client_metadata import ClusterView, PartitionView
from harness.sim.client_settings import ClientSettings
from harness.sim.clock import START_MS
from harness.sim.node_process import NodeProcess
from harness.sim.nodes import CONTROLLER_PORT, PORT, NodeDownError, SimCluster
from harness.sim.place import SimPlace

_T = TypeVar("_T")

_FIRST_BOOTSTRAP = -1
_PATIENCE = ClientSettings(
    client_id="control",
    connect_timeout_s=2.0,
    request_timeout_s=3.0,
    metadata_timeout_s=3.0,
    call_timeout_s=5.0,
)


class SimBroker:
    name = "reference"

    def __init__(
        self,
        place: SimPlace,
        settings: Settings | None = None,
        *,
        on_made: Callable[[SimCluster], None] | None = None,
        start_within_s: float = 60,
        stop_within_s: float = 30,
    ) -> None:
        """`on_made` sees the nodes before the first of them starts: a place for invariants."""
        self.place: Place = place
        self.settings = settings or Settings()
        self._place = place
        self._on_made = on_made
        self._start_within_s = start_within_s
        self._stop_within_s = stop_within_s
        self._cluster: SimCluster | None = None
        self._processes: dict[Node, RunningProcess] = {}
        self._questions = 0

    async def install(self, node: Node) -> None:
        """Nothing to do: the broker is part of the simulation."""

    async def configure(self, node: Node) -> None:
        host = self._host(node)
        text = server_properties(self._member(host), self._members(), self.settings)
        await self._place.put(node, text.encode(), host.home / "server.properties")
        try:
            cluster = self._made()
        except ValueError as error:
            raise NodeFailedError(f"{node} could not be formatted: {error}") from error
        await cluster[node].format(cluster.cluster_id)

    def _made(self) -> SimCluster:
        """All nodes at once, with the first that is configured."""
        if self._cluster is None:
            members = self._members()
            self._cluster = SimCluster(
                self._place.simulation,
                len(members),
                lambda node_id: properties_by_name(members[node_id - 1], members, self.settings),
            )
            self._place.settle(self._cluster)
            if self._on_made is not None:
                self._on_made(self._cluster)
        return self._cluster

    async def start(self, node: Node) -> None:
        machine = self._made()[node]
        machine.start()
        self._processes[node] = process = NodeProcess(machine)
        try:
            async with asyncio.timeout(self._start_within_s):
                await machine.started()
        except TimeoutError:
            await process.kill()
            raise NodeFailedError(
                f"not within {self._start_within_s:g} s: {node} is ready; it was killed"
            ) from None
        except NodeDownError as end:
            raise NodeFailedError(
                f"{node} ended with {end.exit_code} before it was ready; it said:\n{end}"
            ) from None

    async def stop(self, node: Node) -> None:
        process = self._processes.get(node)
        if process is None or not await process.is_running():
            return
        code = await process.terminate(within_s=self._stop_within_s)
        if code != 0:
            raise NodeFailedError(
                f"{node} was asked to stop and ended with {code}; it said:\n"
                + await process.output("stderr")
            )

    def process(self, node: Node) -> RunningProcess | None:
        return self._processes.get(node)

    def bootstrap(self, nodes: Sequence[Node]) -> str:
        return ",".join(self._member(self._host(node)).client_address for node in nodes)

    async def partitions(self, topic: str, asking: Sequence[Node]) -> Sequence[PartitionState]:
        async def describe(client: Client) -> ClusterView:
            return await client.metadata.view(_FIRST_BOOTSTRAP, [topic])

        view = await self._ask(asking, describe)
        if topic in view.errors:
            told = view.errors[topic].name
            raise NoAnswerError(f"{self.bootstrap(asking)} does not know {topic}: {told}")
        return [
            self._state(index, found)
            for index, found in sorted(view.topics[topic].partitions.items())
        ]

    async def controller(self, asking: Sequence[Node]) -> Node | None:
        async def leader(client: Client) -> int:
            return (await client.admin.describe_quorum()).leader_id

        return self._node(await self._ask(asking, leader))

    async def _ask(self, asking: Sequence[Node], question: Callable[[Client], Awaitable[_T]]) -> _T:
        """One after the other, each by a client that knows nothing yet and only this node."""
        complaint = ""
        for node in asking:
            try:
                return await self._place.control.start(self._asked(node, question))
            except ClientError as error:
                complaint = str(error)
        raise NoAnswerError(f"none of {', '.join(asking)} answered: {complaint}")

    async def _asked(self, node: Node, question: Callable[[Client], Awaitable[_T]]) -> _T:
        simulation = self._place.simulation
        self._questions += 1
        client = Client(
            simulation.network.of(self._place.control.host),
            [Address(node, PORT)],
            random=simulation.decisions.random("question", str(self._questions)),
            now_ms=lambda: START_MS + int(simulation.now_s * 1000),
            settings=_PATIENCE,
        )
        async with client:
            return await question(client)

    def _state(self, index: int, found: PartitionView) -> PartitionState:
        return PartitionState(
            index=index,
            leader=self._node(found.leader),
            replicas=tuple(f"n{node_id}" for node_id in found.replicas),
            isr=tuple(f"n{node_id}" for node_id in found.isr),
        )

    def _node(self, node_id: int) -> Node | None:
        return f"n{node_id}" if node_id >= 0 else None

    def _host(self, node: Node) -> Host:
        return next(host for host in self.place.hosts if host.node == node)

    def _members(self) -> list[Member]:
        return [self._member(host) for host in self.place.hosts]

    def _member(self, host: Host) -> Member:
        return Member(
            node_id=list(self.place.hosts).index(host) + 1,
            address=host.address,
            client_port=self.place.port(host.node, PORT),
            controller_port=self.place.port(host.node, CONTROLLER_PORT),
            log_dirs=(host.data / "logs",),
        )


def _check(system: SimBroker) -> System:
    """Has mypy hold it to what clusters expect."""
    return system
