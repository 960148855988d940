"""The reference broker as a system: known by its command, its config file and its ports alone."""

from __future__ import annotations

import base64
import json
import sys
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from harness.cluster import kafka_admin
from harness.cluster.base import (
    Host,
    NewTopic,
    PartitionState,
    Place,
    RunningProcess,
    Stream,
    System,
)
from harness.cluster.capabilities import Node
from harness.cluster.cluster_line import ClusterLine
from harness.cluster.errors import (
    NoAnswerError,
    NodeFailedError,
    NotInTimeError,
    RefusedConfigError,
    RefusedError,
)
from harness.cluster.kafka_questions import answers, describe_partitions
from harness.cluster.parts import EveryPart
from harness.cluster.server_properties import Member, Settings, server_properties
from harness.cluster.stored_segments import stored_segments
from harness.cluster.waiting import wait_until

_CLIENT_PORT = 9092
_CONTROLLER_PORT = 9093
_LAST_LINES = 12
_COMPLAINT_MAX = 1500
_REFUSED = 1
"""How the broker's commands end when a broker answered and what it said was no."""
_NOT_NOW = ("NOT_CONTROLLER", "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE", "NETWORK_EXCEPTION")
"""No is not the answer to these: another node, or the same one later, may say yes."""
_COMMAND_WITHIN_S = 15.0


@dataclass(frozen=True, slots=True)
class QuorumState:
    leader: Node
    epoch: int


class ReferenceBroker(EveryPart):
    """Other brokers that take Kafka's properties differ in what they are called by, and say."""

    name = "reference"
    _ready = "ready on "
    _ready_on: Stream = "stdout"
    _ready_every_s = 0.01
    _ended_by_request: tuple[int, ...] = (0,)
    _refuses_config: int | None = 254
    """How its format command exits if a property is unknown, or its value is not one."""

    def __init__(
        self,
        place: Place,
        settings: Settings | None = None,
        *,
        command: Sequence[str] = (sys.executable, "-m", "broker"),
        installer: Callable[[Node], Awaitable[None]] | None = None,
        cluster_id: str | None = None,
        start_within_s: float = 60,
        stop_within_s: float = 30,
    ) -> None:
        self.place = place
        self.settings = settings or Settings()
        self.cluster_id = cluster_id or _drawn_id()
        self._command = tuple(command)
        self._installer = installer
        self._start_within_s = start_within_s
        self._stop_within_s = stop_within_s
        self._processes: dict[Node, RunningProcess] = {}

    async def install(self, node: Node) -> None:
        """Without an installer the command has to be on the host already."""
        if self._installer is not None:
            await self._installer(node)

    async def configure(self, node: Node) -> None:
        host = self._host(node)
        members = [self._member(one) for one in self.place.hosts]
        text = server_properties(self._member(host), members, self.settings)
        config = host.home / "server.properties"
        await self.place.put(node, text.encode(), config)
        formatting = ["format", "--config", str(config), f"--cluster-id={self.cluster_id}"]
        command = self._format_command(node, formatting)
        done = await self.place.run(node, command, within_s=self._start_within_s)
        if done.exit_code != 0:
            complaint = (done.stderr or done.stdout).strip()[-_COMPLAINT_MAX:]
            failed = f"{node} could not be formatted: {complaint}"
            if done.exit_code == self._refuses_config:
                raise RefusedConfigError(failed)
            raise NodeFailedError(failed)

    def _format_command(self, node: Node, arguments: Sequence[str]) -> Sequence[str]:
        return [*self._command, *arguments]

    async def start(self, node: Node) -> None:
        home = self._host(node).home
        process = await self.place.spawn(
            node,
            self._start_command(node, home / "server.properties"),
            stdout=home / "broker.out",
            stderr=home / "broker.log",
        )
        self._processes[node] = process

        async def is_ready() -> bool:
            return self._ready in await process.output(self._ready_on)

        async def is_decided() -> bool:
            return await is_ready() or not await process.is_running()

        what, every_s = f"{node} is ready", self._ready_every_s
        try:
            await wait_until(is_decided, within_s=self._start_within_s, what=what, every_s=every_s)
        except NotInTimeError as late:
            last_words = await _last_words(process)
            await process.kill()
            raise NodeFailedError(f"{late}; it said:\n{last_words}") from None
        if not await is_ready():
            code = await process.wait()
            raise NodeFailedError(
                f"{node} ended with {code} before it was ready; it said:\n"
                + await _last_words(process)
            )

    def _start_command(self, node: Node, config: PurePosixPath) -> Sequence[str]:
        return [*self._command, "start", "--config", str(config)]

    async def stop(self, node: Node) -> None:
        process = self._processes.get(node)
        if process is None or not await process.is_running():
            return
        code = await process.terminate(within_s=self._stop_within_s)
        if code not in self._ended_by_request:
            raise NodeFailedError(
                f"{node} was asked to stop and ended with {code}; it said:\n"
                + await _last_words(process)
            )

    def process(self, node: Node) -> RunningProcess | None:
        return self._processes.get(node)

    async def is_well(self, node: Node) -> bool:
        return await answers(self.place, self.bootstrap([node]))

    def bootstrap(self, nodes: Sequence[Node]) -> str:
        return ",".join(self._member(self._host(node)).client_address for node in nodes)

    def logs(self, node: Node) -> Sequence[PurePosixPath]:
        home = self._host(node).home
        return [home / "broker.log", home / "server.properties"]

    @property
    def state(self) -> ReferenceBroker:
        return self

    def state_line(self, node: Node) -> ClusterLine:
        """Behind the wire proxy, if there is one: its faults are meant for clients and brokers."""
        port = self.place.port_behind(node, _CLIENT_PORT)
        return ClusterLine(self.place, self._host(node).address, port)

    def node_of(self, number: int) -> Node:
        """Nodes are numbered as the place lists them, from 1."""
        return self.place.hosts[number - 1].node

    async def partitions(self, topic: str, asking: Sequence[Node]) -> Sequence[PartitionState]:
        return [
            PartitionState(
                index=one.index,
                leader=None if one.leader_id is None else self.node_of(one.leader_id),
                replicas=tuple(map(self.node_of, one.replica_ids)),
                isr=tuple(map(self.node_of, one.isr_ids)),
            )
            for one in await describe_partitions(self.place, self.bootstrap(asking), topic)
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
            complaint = done.stderr.strip()
            if done.exit_code == 0:
                try:
                    found = json.loads(done.stdout)
                    return QuorumState(self.node_of(found["leaderId"]), found["leaderEpoch"])
                except (ValueError, LookupError) as error:
                    complaint = f"{node} says what nobody understands: {error!r}"
        raise NoAnswerError(f"none of {', '.join(asking)} knows who leads the quorum: {complaint}")

    async def create_topic(self, topic: NewTopic) -> None:
        bootstrap = self._bootstrap_of_all()
        await self.place.ask(lambda: kafka_admin.create_topic(bootstrap, topic))

        async def is_led() -> bool:
            found = await describe_partitions(self.place, bootstrap, topic.name)
            return len(found) >= topic.partitions and all(
                one.leader_id is not None for one in found
            )

        what = f"every partition of {topic.name} has a leader"
        await wait_until(is_led, within_s=self._start_within_s, what=what)

    async def alter_topic(self, topic: str, configs: Mapping[str, str | None]) -> None:
        bootstrap = self._bootstrap_of_all()
        await self.place.ask(lambda: kafka_admin.alter_topic(bootstrap, topic, configs))

    async def reassign(self, topic: str, index: int, replicas: Sequence[Node]) -> None:
        ids = ",".join(str(self._member(self._host(node)).node_id) for node in replicas)
        await self._command_anyone(["partitions", "reassign", topic, str(index), ids])

    async def elect(self, topic: str, index: int) -> None:
        await self._command_anyone(["partitions", "elect", topic, str(index)])

    async def log_starts(self, topic: str) -> Mapping[int, int]:
        bootstrap = self._bootstrap_of_all()
        return await self.place.ask(lambda: kafka_admin.log_starts(bootstrap, topic))

    async def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        bootstrap = self._bootstrap_of_all()
        await self.place.ask(lambda: kafka_admin.delete_records(bootstrap, topic, before))

    async def segments(self, topic: str, node: Node) -> Mapping[int, Sequence[int]]:
        return await stored_segments(self.place, node, self.log_directory(node), topic)

    def log_directory(self, node: Node) -> PurePosixPath:
        return self._log_dir(self._host(node))

    def _bootstrap_of_all(self) -> str:
        return self.bootstrap([host.node for host in self.place.hosts])

    async def _command_anyone(self, words: Sequence[str]) -> None:
        """On one host after the other, until a broker has answered yes or no."""
        complaint = ""
        for host in self.place.hosts:
            if not await self._is_awake(host.node):
                continue
            address = f"--bootstrap-server={self._member(host).client_address}"
            try:
                done = await self.place.run(
                    host.node, [*self._command, *words, address], within_s=_COMMAND_WITHIN_S
                )
            except NotInTimeError as late:
                complaint = str(late)
                continue
            if done.exit_code == 0:
                return
            complaint = done.stderr.strip()
            if done.exit_code == _REFUSED and not any(word in complaint for word in _NOT_NOW):
                raise RefusedError(complaint)
        raise NoAnswerError(f"no broker answered {' '.join(words)}: {complaint}")

    async def _is_awake(self, node: Node) -> bool:
        """Whether it is worth asking: a paused node takes connections and keeps its silence."""
        process = self._processes.get(node)
        return process is not None and await process.is_running() and not await process.is_paused()

    def _host(self, node: Node) -> Host:
        for host in self.place.hosts:
            if host.node == node:
                return host
        raise NoAnswerError(f"{node} is not there: its place is not up, or has come down")

    def _member(self, host: Host) -> Member:
        return Member(
            node_id=list(self.place.hosts).index(host) + 1,
            address=host.address,
            client_port=self.place.port(host.node, _CLIENT_PORT),
            controller_port=self.place.port(host.node, _CONTROLLER_PORT),
            client_port_behind=self.place.port_behind(host.node, _CLIENT_PORT),
            controller_port_behind=self.place.port_behind(host.node, _CONTROLLER_PORT),
            log_dirs=(self._log_dir(host),),
        )

    def _log_dir(self, host: Host) -> PurePosixPath:
        return host.data / "logs"


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
