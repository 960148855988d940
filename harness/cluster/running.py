"""running: a cluster that somebody else runs, put on trial by its bootstrap address alone.

Its brokers become n1, n2, ... in the order of their ids. Clients and questions go to them as to any
other; their hosts are out of reach, so nothing of network, processes, disks and clocks can be
broken. A run makes its topics and deletes them again, and takes no topic that is there already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal, NoReturn, TypeVar

from harness.cluster import kafka_admin
from harness.cluster.base import Completed, Host, NewTopic, Place, RunningProcess, System
from harness.cluster.capabilities import Capability, Clocks, Disks, Network, Node, Wire
from harness.cluster.errors import NodeFailedError, NotInTimeError
from harness.cluster.kafka_questions import Broker, brokers_at, topics_at
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import Member
from harness.errors import EnvironmentFailure, UsageFailure

_Answer = TypeVar("_Answer")
_NOWHERE = PurePosixPath("/nonexistent")
_REASONS: dict[Capability, str] = {
    "network": "the hosts of a running cluster are out of reach, so no link can be cut",
    "process": "the hosts of a running cluster are out of reach, so no process can be struck",
    "disk": "the hosts of a running cluster are out of reach, so no disk can be broken",
    "clock": "the hosts of a running cluster are out of reach, so no clock can be shifted",
    "wire": "clients go to the addresses that running brokers advertise, past any proxy",
}


class RunningPlace:
    name = "running"
    client_host: Node | None = None
    network: Network | None = None
    disk: Disks | None = None
    clock: Clocks | None = None
    wire: Wire | None = None

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._brokers: dict[Node, Broker] = {}
        self.made_topics: list[str] = []
        """Topics to be deleted when the run is over."""

    def why_not(self, capability: Capability) -> str | None:
        return _REASONS[capability]

    @property
    def hosts(self) -> Sequence[Host]:
        return [
            Host(node=node, address=broker.host, home=_NOWHERE, data=_NOWHERE)
            for node, broker in self._brokers.items()
        ]

    def broker(self, node: Node) -> Broker:
        return self._brokers[node]

    async def up(self, count: int) -> Sequence[Host]:
        found = await self.ask(lambda: brokers_at(self._bootstrap))
        if len(found) != count:
            raise EnvironmentFailure(
                f"{self._bootstrap} has {len(found)} brokers, and had {count} before: try again "
                "when all of them are there"
            )
        self._brokers = {f"n{number}": each for number, each in enumerate(found, 1)}
        return self.hosts

    async def down(self) -> None:
        """The cluster stays; the topics of the run go."""
        topics, self.made_topics = self.made_topics, []
        if topics:
            await self.ask(lambda: kafka_admin.delete_topics(self._bootstrap, topics))

    def port(self, node: Node, usual: int) -> int:
        return self._brokers[node].port

    def port_behind(self, node: Node, usual: int) -> int:
        return self._brokers[node].port

    async def run(self, node: Node, argv: Sequence[str], *, within_s: float = 60) -> Completed:
        """On this machine: only commands that reach the node by its address are of use."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*argv, stdout=pipe, stderr=pipe)
        try:
            async with asyncio.timeout(within_s):
                out, err = await process.communicate()
        except TimeoutError:
            raise NotInTimeError(
                f"timed out after {within_s:g} s waiting until {argv[0]} ends"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Completed(tuple(argv), process.returncode or 0, out.decode(), err.decode())

    async def spawn(
        self, node: Node, argv: Sequence[str], *, stdout: PurePosixPath, stderr: PurePosixPath
    ) -> NoReturn:
        raise EnvironmentFailure(_REASONS["process"])

    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        return argv

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        return await asyncio.to_thread(question)

    async def put(self, node: Node, content: bytes, target: PurePosixPath) -> None:
        raise EnvironmentFailure(_REASONS["disk"])

    async def get(self, node: Node, source: PurePosixPath, into: Path) -> None:
        raise EnvironmentFailure(_REASONS["disk"])


class RunningCluster(ReferenceBroker):
    """Asked and told by Kafka's protocol, as the reference broker is; never started or stopped."""

    name = "running"
    stored = None  # type: ignore[assignment] # every part of the reference broker but this

    def __init__(self, place: RunningPlace) -> None:
        super().__init__(place)
        self._running = place

    async def configure(self, node: Node) -> None: ...

    async def start(self, node: Node) -> None:
        if not await self.is_well(node):
            raise NodeFailedError(f"{self.bootstrap([node])} does not answer")

    async def stop(self, node: Node) -> None: ...

    def process(self, node: Node) -> RunningProcess | None:
        return None

    def logs(self, node: Node) -> Sequence[PurePosixPath]:
        return ()

    async def create_topic(self, topic: NewTopic) -> None:
        bootstrap = self._bootstrap_of_all()
        if topic.name in await self.place.ask(lambda: topics_at(bootstrap)):
            raise UsageFailure(
                f"the cluster has a topic {topic.name} already, and records of others could not be "
                "told from those of the run; delete it first"
            )
        self._running.made_topics.append(topic.name)
        await super().create_topic(topic)

    def node_of(self, number: int) -> Node:
        return next(n for n in self._nodes() if self._running.broker(n).id == number)

    def _nodes(self) -> list[Node]:
        return [host.node for host in self.place.hosts]

    async def _is_awake(self, node: Node) -> Literal[True]:
        return True

    def _member(self, host: Host) -> Member:
        broker = self._running.broker(host.node)
        return Member(
            node_id=broker.id,
            address=broker.host,
            client_port=broker.port,
            controller_port=broker.port,
            client_port_behind=broker.port,
            controller_port_behind=broker.port,
            log_dirs=(),
        )


def running_cluster(place: Place, config: Mapping[str, str]) -> System:
    if not isinstance(place, RunningPlace):
        raise UsageFailure("--system running is for --on running")
    return RunningCluster(place)
