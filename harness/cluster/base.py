"""What a run asks of the nodes under test.

A *place* gives hosts and knows nothing of brokers. A *system* is one kind of broker; it reaches its
hosts through its place only, and has the parts (parts.py) that it has. The two make a cluster
(cluster.py), and a nemesis gets that cluster with five things it may break: network, process, disk,
clock, wire. Each is there or is None, and `why_not` tells the reason.

Nobody here waits by the wall clock. Who waits uses the running loop, so that a simulated place can
make the same promises in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from harness.cluster.capabilities import Capability, Clocks, Disks, Network, Node, Wire

if TYPE_CHECKING:
    from harness.cluster.parts import (
        Controllers,
        Elections,
        Leaders,
        Reassignment,
        Retention,
        State,
        Stored,
        Topics,
    )

Stream = Literal["stdout", "stderr"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    node: Node
    address: str
    home: PurePosixPath
    """Configuration and logs. No disk fault strikes here."""
    data: PurePosixPath
    """What the system stores. Disk faults strike here."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that came to its end, well or badly."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """A partition as the cluster describes it; the answering node may be a little behind."""

    index: int
    leader: Node | None
    replicas: tuple[Node, ...]
    isr: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str] = field(default_factory=dict)


class RunningProcess(Protocol):
    """A long-lived process on a host, from its spawn on. Each fault proves itself or raises."""

    @property
    def pid(self) -> int: ...

    async def is_running(self) -> bool:
        """A paused process runs; one that has ended does not, though nobody has buried it yet."""
        ...

    async def is_paused(self) -> bool: ...

    async def kill(self) -> None:
        """Without a chance to clean up. Returns when it is gone, and all it started with it."""
        ...

    async def pause(self) -> None:
        """Returns when no thread of it runs any more."""
        ...

    async def resume(self) -> None:
        """Does nothing to a process that is not paused."""
        ...

    async def terminate(self, *, within_s: float) -> int:
        """Asks it to end and returns its exit code. One that does not is killed, and told of."""
        ...

    async def wait(self) -> int:
        """Its exit code, once it has ended; negative if a signal ended it."""
        ...

    async def output(self, stream: Stream) -> str:
        """The end of what it wrote since it was spawned."""
        ...


_Answer = TypeVar("_Answer")


class Place(Protocol):
    """Where hosts come from. Whatever it starts or makes, `down` ends."""

    name: str
    client_host: Node | None
    """What the network calls the host of all clients; None where clients share the nodes' host."""
    network: Network | None
    disk: Disks | None
    clock: Clocks | None
    wire: Wire | None

    def why_not(self, capability: Capability) -> str | None:
        """Why it cannot be had here, in a sentence; None if it can."""
        ...

    @property
    def hosts(self) -> Sequence[Host]:
        """Empty until `up`."""
        ...

    async def up(self, count: int) -> Sequence[Host]: ...

    async def down(self) -> None:
        """Leaves nothing running and no fault in force; files stay. Safe at any time."""
        ...

    def port(self, node: Node, usual: int) -> int:
        """The port that stands for `usual` on this host: the same at each call, nobody else's."""
        ...

    def port_behind(self, node: Node, usual: int) -> int:
        """Where to listen for what others reach at `port`: there, unless a proxy stands there."""
        ...

    async def run(self, node: Node, argv: Sequence[str], *, within_s: float = 60) -> Completed:
        """A short command. Its exit code is the caller's business."""
        ...

    async def spawn(
        self,
        node: Node,
        argv: Sequence[str],
        *,
        stdout: PurePosixPath,
        stderr: PurePosixPath,
    ) -> RunningProcess:
        """A long-lived process. What it writes is added to these files of its host."""
        ...

    def client_command(self, argv: Sequence[str]) -> Sequence[str]:
        """What to execute on this machine so that `argv` runs where the clients live."""
        ...

    async def ask(self, question: Callable[[], _Answer]) -> _Answer:
        """A blocking call, in a thread from which the nodes can be reached as clients reach them.

        What it opens, the threads it starts included, reaches the nodes, too.
        """
        ...

    async def put(self, node: Node, content: bytes, target: PurePosixPath) -> None:
        """Writes a small file, and the directories that lead to it."""
        ...

    async def get(self, node: Node, source: PurePosixPath, into: Path) -> None:
        """Copies a file of the host, however large, to this machine."""
        ...


class System(Protocol):
    """One kind of broker on the hosts of its place: what every system has, and the parts (parts.py)
    that it may have, each of them None where it has not."""

    name: str
    place: Place

    async def install(self, node: Node) -> None: ...

    async def configure(self, node: Node) -> None:
        """Once, before the first start; knows the place's other hosts."""
        ...

    async def start(self, node: Node) -> None:
        """Returns when the node serves; with several nodes that takes a majority of them."""
        ...

    async def stop(self, node: Node) -> None:
        """Cleanly, within a deadline."""
        ...

    def process(self, node: Node) -> RunningProcess | None:
        """The one last started, which may have ended since."""
        ...

    async def is_well(self, node: Node) -> bool:
        """Whether the node answers a client now."""
        ...

    def bootstrap(self, nodes: Sequence[Node]) -> str:
        """The addresses for clients: host:port, comma separated."""
        ...

    def logs(self, node: Node) -> Sequence[PurePosixPath]:
        """Files on the host that are kept with the run: node logs and configuration."""
        ...

    @property
    def topics(self) -> Topics | None: ...

    @property
    def leaders(self) -> Leaders | None: ...

    @property
    def elections(self) -> Elections | None: ...

    @property
    def reassignment(self) -> Reassignment | None: ...

    @property
    def controllers(self) -> Controllers | None: ...

    @property
    def retention(self) -> Retention | None: ...

    @property
    def stored(self) -> Stored | None: ...

    @property
    def state(self) -> State | None: ...
