"""The reference broker as a system inside a simulation: the same settings, names and questions.

Questions go over the simulated network, from a process of the place and with our own client, so a
node that is cut off or stands still does not answer here either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from broker.network.interface import Address
from broker.protocol.errors import ErrorCode
from harness.cluster.base import Host, NewTopic, PartitionState, Place, RunningProcess, System
from harness.cluster.capabilities import Node
from harness.cluster.errors import NoAnswerError, NodeFailedError, RefusedConfigError, RefusedError
from harness.cluster.parts import EveryPart
from harness.cluster.server_properties import (
    Member,
    Settings,
    properties_by_name,
    server_properties,
)
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure
from harness.native.client import Client
from harness.native.errors import BrokerError, ClientError
from harness.native.metadata import ClusterView, PartitionView
from harness.native.reader import EARLIEST
from harness.native.settings import ClientSettings
from harness.sim.clock import START_MS
from harness.sim.node_process import NodeProcess
from harness.sim.nodes import CONTROLLER_PORT, PORT, NodeDownError, SimCluster
from harness.sim.place import SimPlace
from harness.sim.stored_logs import StoredLogs

_T = TypeVar("_T")

_FIRST_BOOTSTRAP = -1
_PATIENCE = ClientSettings(
    client_id="control",
    connect_timeout_s=2.0,
    request_timeout_s=3.0,
    metadata_timeout_s=3.0,
    call_timeout_s=5.0,
)


class SimBroker(EveryPart):
    name = "reference"
    state = None
    """The trace shows it, of every step."""

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
            raise RefusedConfigError(f"{node} could not be formatted: {error}") from error
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
                f"timed out after {self._start_within_s:g} s waiting until "
                f"{node} is ready; it was killed"
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

    async def is_well(self, node: Node) -> bool:
        async def describe(client: Client) -> ClusterView:
            return await client.metadata.view(_FIRST_BOOTSTRAP, [])

        try:
            await self._ask([node], describe)
        except EnvironmentFailure:
            return False
        return True

    def bootstrap(self, nodes: Sequence[Node]) -> str:
        return ",".join(self._member(self._host(node)).client_address for node in nodes)

    def logs(self, node: Node) -> Sequence[PurePosixPath]:
        home = self._host(node).home
        return [home / "broker.log", home / "server.properties"]

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

    async def create_topic(self, topic: NewTopic) -> None:
        async def create(client: Client) -> None:
            try:
                await client.admin.create_topic(
                    topic.name,
                    partitions=topic.partitions,
                    replication_factor=topic.replication_factor,
                    configs=topic.configs,
                )
            except BrokerError as error:
                if error.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise

        async def is_led() -> bool:
            found = await self.partitions(topic.name, self._awake())
            return len(found) >= topic.partitions and all(one.leader for one in found)

        await self._ask(self._awake(), create)
        what = f"every partition of {topic.name} has a leader"
        await wait_until(is_led, within_s=self._start_within_s, what=what)

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        await self._ask(self._awake(), lambda client: client.admin.alter_topic(topic, configs))

    async def reassign(self, topic: str, index: int, replicas: Sequence[Node]) -> None:
        wanted = {(topic, index): [self._member(self._host(node)).node_id for node in replicas]}

        async def alter(client: Client) -> None:
            done = await client.admin.alter_partition_reassignments(wanted)
            _check_done(done[topic, index], f"{topic}-{index} is not reassigned")

        await self._ask(self._awake(), alter)

    async def elect(self, topic: str, index: int) -> None:
        async def elect(client: Client) -> None:
            done = await client.admin.elect_leaders([(topic, index)])
            if done[topic, index] != ErrorCode.ELECTION_NOT_NEEDED:
                _check_done(done[topic, index], f"{topic}-{index} gets no other leader")

        await self._ask(self._awake(), elect)

    async def log_starts(self, topic: str) -> Mapping[int, int]:
        async def ask(client: Client) -> dict[int, int]:
            reader = client.reader()
            view = await client.admin.describe_topic(topic)
            return {
                index: (await reader.list_offset(topic, index, EARLIEST)).offset
                for index in sorted(view.partitions)
            }

        return await self._ask(self._awake(), ask)

    async def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        async def delete(client: Client) -> None:
            for index, offset in sorted(before.items()):
                await client.admin.delete_records(topic, index, offset)

        await self._ask(self._awake(), delete)

    async def segments(self, topic: str, node: Node) -> Mapping[int, Sequence[int]]:
        found: dict[int, Sequence[int]] = {}
        for disk in self._made()[node].disks.values():
            found |= StoredLogs(disk).segments(topic)
        return found

    def log_directory(self, node: Node) -> PurePosixPath:
        return self._host(node).data / "logs"

    def _awake(self) -> list[Node]:
        """Those that can answer, or all if there are none."""
        machines = self._made().nodes.values()
        awake = [one.name for one in machines if one.life is not None and not one.life.is_paused]
        return awake or [one.name for one in machines]

    async def _ask(self, asking: Sequence[Node], question: Callable[[Client], Awaitable[_T]]) -> _T:
        """One after the other, each by a client that knows nothing yet and only this node."""
        complaint = ""
        for node in asking:
            try:
                return await self._place.control.start(self._asked(node, question))
            except BrokerError as error:
                if not error.is_retriable:
                    is_config = error.code == ErrorCode.INVALID_CONFIG
                    raise (RefusedConfigError if is_config else RefusedError)(str(error)) from None
                complaint = str(error)
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


def _check_done(code: ErrorCode, otherwise: str) -> None:
    if code.retriable:
        raise NoAnswerError(f"{otherwise}: {code.name}")
    if code != ErrorCode.NONE:
        raise RefusedError(f"{otherwise}: {code.name}")


def _check(system: SimBroker) -> System:
    """Has mypy hold it to what clusters expect."""
    return system
