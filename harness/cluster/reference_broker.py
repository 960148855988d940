"""The reference broker as a system: known by its command, its config file and its ports alone."""

from __future__ import annotations

import base64
import json
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from harness.cluster.base import Host, Node, PartitionState, Place, RunningProcess, System
from harness.cluster.errors import NoAnswerError, NodeFailedError, NotInTimeError
from harness.cluster.kafka_questions import describe_partitions
from harness.cluster.server_properties import Member, Settings, server_properties
from harness.cluster.waiting import wait_until

_CLIENT_PORT = 9092
_CONTROLLER_PORT = 9093
_READY = "ready on "
_LAST_LINES = 12


@dataclass(frozen=True, slots=True)
class QuorumState:
    leader: Node
    epoch: int


class ReferenceBroker:
    name = "reference"

    def __init__(
        self,
        place: Place,
        settings: Settings | None = None,
        *,
        command: Sequence[str] = (sys.executable, "-m", "broker"),
        cluster_id: str | None = None,
        start_within_s: float = 60,
        stop_within_s: float = 30,
    ) -> None:
        self.place = place
        self.settings = settings or Settings()
        self.cluster_id = cluster_id or _drawn_id()
        self._command = tuple(command)
        self._start_within_s = start_within_s
        self._stop_within_s = stop_within_s
        self._processes: dict[Node, RunningProcess] = {}

    async def install(self, node: Node) -> None:
        """Nothing to do: the command has to be on the host, and `configure` is first to run it."""

    async def configure(self, node: Node) -> None:
        host = self._host(node)
        members = [self._member(one) for one in self.place.hosts]
        text = server_properties(self._member(host), members, self.settings)
        config = host.home / "server.properties"
        await self.place.put(node, text.encode(), config)
        formatting = ["format", "--config", str(config), f"--cluster-id={self.cluster_id}"]
        done = await self.place.run(node, [*self._command, *formatting])
        if done.exit_code != 0:
            raise NodeFailedError(f"{node} could not be formatted: {done.stderr.strip()}")

    async def start(self, node: Node) -> None:
        home = self._host(node).home
        process = await self.place.spawn(
            node,
            [*self._command, "start", "--config", str(home / "server.properties")],
            stdout=home / "broker.out",
            stderr=home / "broker.log",
        )
        self._processes[node] = process

        async def is_decided() -> bool:
            return _READY in await process.output("stdout") or not await process.is_running()

        try:
            await wait_until(
                is_decided, within_s=self._start_within_s, what=f"{node} is ready", every_s=0.01
            )
        except NotInTimeError as late:
            last_words = await _last_words(process)
            await process.kill()
            raise NodeFailedError(f"{late}; it said:\n{last_words}") from None
        if _READY not in await process.output("stdout"):
            code = await process.wait()
            raise NodeFailedError(
                f"{node} ended with {code} before it was ready; it said:\n"
                + await _last_words(process)
            )

    async def stop(self, node: Node) -> None:
        process = self._processes.get(node)
        if process is None or not await process.is_running():
            return
        code = await process.terminate(within_s=self._stop_within_s)
        if code != 0:
            raise NodeFailedError(
                f"{node} was asked to stop and ended with {code}; it said:\n"
                + await _last_words(process)
            )

    def process(self, node: Node) -> RunningProcess | None:
        return self._processes.get(node)

    def bootstrap(self, nodes: Sequence[Node]) -> str:
        return ",".join(self._member(self._host(node)).client_address for node in nodes)

    async def partitions(self, topic: str, asking: Sequence[Node]) -> Sequence[PartitionState]:
        return [
            PartitionState(
                index=one.index,
                leader=None if one.leader_id is None else self._node(one.leader_id),
                replicas=tuple(map(self._node, one.replica_ids)),
                isr=tuple(map(self._node, one.isr_ids)),
            )
            for one in await describe_partitions(self.bootstrap(asking), topic)
        ]

    async def controller(self, asking: Sequence[Node]) -> Node | None:
        return (await self.quorum(asking)).leader

    async def quorum(self, asking: Sequence[Node]) -> QuorumState:
        """By the broker's own command: to clients every broker calls itself the controller."""
        complaint = ""
        for node in asking:
            address = self._member(self._host(node)).client_address
            describing = ["quorum", "describe", "--json", f"--bootstrap-server={address}"]
            done = await self.place.run(node, [*self._command, *describing])
            if done.exit_code == 0:
                found = json.loads(done.stdout)
                return QuorumState(self._node(found["leaderId"]), found["leaderEpoch"])
            complaint = done.stderr.strip()
        raise NoAnswerError(f"none of {', '.join(asking)} knows who leads the quorum: {complaint}")

    def _node(self, node_id: int) -> Node:
        """Nodes are numbered as the place lists them, from 1."""
        return self.place.hosts[node_id - 1].node

    def _host(self, node: Node) -> Host:
        return next(host for host in self.place.hosts if host.node == node)

    def _member(self, host: Host) -> Member:
        return Member(
            node_id=list(self.place.hosts).index(host) + 1,
            address=host.address,
            client_port=self.place.port(host.node, _CLIENT_PORT),
            controller_port=self.place.port(host.node, _CONTROLLER_PORT),
            log_dirs=(host.data / "logs",),
        )


def _drawn_id() -> str:
    """Sixteen bytes in Kafka's spelling. A fresh one tells this cluster's data from another's."""
    while True:
        drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # On a command line it would look like an option, so Kafka draws again too.
        if not drawn.startswith("-"):
            return drawn


async def _last_words(process: RunningProcess) -> str:
    lines = (await process.output("stderr")).splitlines()
    return "\n".join(lines[-_LAST_LINES:])


def _check(system: ReferenceBroker) -> System:
    """Has mypy hold it to what clusters expect."""
    return system
