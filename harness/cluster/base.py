"""What a run asks of the nodes under test.

A *place* gives hosts and knows nothing of brokers. A *system* is one kind of broker; it reaches its
hosts through its place only. The two make a cluster (cluster.py), and a nemesis gets that cluster
with five things it may break: network, process, disk, clock, wire. Each is there or is None, and
`why_not` tells the reason.

Nobody here waits by the wall clock. Who waits uses the running loop, so that a simulated place can
make the same promises in virtual time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, Protocol, get_args

if TYPE_CHECKING:
    from harness.wire.match import MessageFault

Node = str
"""A node's name, n1 for the first."""

Capability = Literal["network", "process", "disk", "clock", "wire"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)

DiskFault = Literal["fill", "slow", "fail"]

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


class Network(Protocol):
    """The links between the nodes. Faults add up until `heal` ends them all."""

    async def isolate(self, groups: Sequence[frozenset[Node]]) -> None:
        """Nodes reach those of their own group only. Who is in no group keeps all links."""
        ...

    async def cut(self, source: Node, target: Node) -> None:
        """One way: the target hears nothing of the source any more."""
        ...

    async def slow(self, source: Node, target: Node, by_s: float) -> None:
        """One way: whatever the source sends arrives so much later."""
        ...

    async def heal(self) -> None:
        """Safe at any time."""
        ...

    async def can_reach(self, source: Node, target: Node) -> bool:
        """Whether what the source sends arrives. The way back is another question."""
        ...


class Processes(Protocol):
    """The broker's process on each node. To ask for what already is does nothing."""

    async def kill(self, node: Node) -> None: ...

    async def pause(self, node: Node) -> None: ...

    async def resume(self, node: Node) -> None: ...

    async def start(self, node: Node) -> None:
        """Returns when the node serves."""
        ...

    async def stop(self, node: Node) -> None:
        """Cleanly, as an operator would."""
        ...

    async def is_running(self, node: Node) -> bool: ...

    async def is_paused(self, node: Node) -> bool: ...


class Disks(Protocol):
    """Where the nodes keep their data. A fault that cannot be had here raises FaultMissedError."""

    def why_not(self, fault: DiskFault) -> str | None:
        """Why these disks cannot show it, in a sentence; None if they can."""
        ...

    async def fill(self, node: Node) -> None:
        """Returns when no byte is free where the node keeps its data."""
        ...

    async def slow(self, node: Node, by_s: float) -> None:
        """Whatever waits for the device waits so much longer."""
        ...

    async def fail(self, node: Node) -> None:
        """Every operation ends in EIO."""
        ...

    async def heal(self) -> None:
        """Ends every fault on every node. Safe at any time."""
        ...

    async def free_bytes(self, node: Node) -> int: ...


class Clocks(Protocol):
    """The wall clocks. What a node measures durations by is not touched."""

    async def jump(self, node: Node, by_s: float) -> None:
        """From where it stands now."""
        ...

    async def skew(self, node: Node, rate: float) -> None:
        """From now on; 1.0 is true time, 1.001 gains a millisecond each second."""
        ...

    async def offset_s(self, node: Node) -> float:
        """How far it is ahead of true time."""
        ...

    async def heal(self) -> None:
        """True time on every node. Safe at any time."""
        ...


class Wire(Protocol):
    """Faults of single messages, between clients and nodes and between nodes."""

    async def add(self, fault: MessageFault) -> None:
        """From now on, on open connections too. Its name must be a new one."""
        ...

    async def hits(self, name: str) -> int:
        """How many messages it took hold of. While that is 0 the fault has proved nothing."""
        ...

    async def heal(self) -> None:
        """No message is touched any more; the counts stay. Safe at any time."""
        ...


class Place(Protocol):
    """Where hosts come from. Whatever it starts or makes, `down` ends."""

    name: str
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

    async def put(self, node: Node, content: bytes, target: PurePosixPath) -> None:
        """Writes a small file, and the directories that lead to it."""
        ...

    async def get(self, node: Node, source: PurePosixPath, into: Path) -> None:
        """Copies a file of the host, however large, to this machine."""
        ...


class System(Protocol):
    """One kind of broker on the hosts of its place."""

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

    def bootstrap(self, nodes: Sequence[Node]) -> str:
        """The addresses for clients: host:port, comma separated."""
        ...

    async def partitions(self, topic: str, asking: Sequence[Node]) -> Sequence[PartitionState]:
        """By index. Raises NoAnswerError when none of those asked answers."""
        ...

    async def controller(self, asking: Sequence[Node]) -> Node | None:
        """The active one as those asked know it. Raises NoAnswerError as above."""
        ...
