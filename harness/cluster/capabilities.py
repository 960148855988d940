"""What may be broken, and how: network, process, disk, clock, wire.

Each method that breaks something looks for its effect before it returns, and raises
FaultMissedError if there is none. Each `heal` ends all faults of its kind on every node, proves it,
and is safe at any time, also when nothing was ever broken.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, get_args

if TYPE_CHECKING:
    from harness.wire.match import MessageFault

Node = str
"""A node's name, n1 for the first. The network has such a name for the host of the clients, too."""

Link = tuple[Node, Node]
"""One way: from the first to the second."""

Capability = Literal["network", "process", "disk", "clock", "wire"]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)

DiskFault = Literal["fill", "slow", "fail", "read-only", "bit-flip", "truncate", "power"]
DISK_FAULTS: tuple[DiskFault, ...] = get_args(DiskFault)


class StoredDamage(NamedTuple):
    """A damaged replica: `log` names it as data, `where` says for people what was damaged."""

    log: str
    """Topic and partition, as in `t-0`."""
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFault:
    """What befalls the packets of a link. Shares are between 0 and 1; None is no limit."""

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    bytes_per_s: float | None = None


class Network(Protocol):
    """The links between the hosts. Faults add up until `heal` ends them all."""

    @property
    def hosts(self) -> Sequence[Node]:
        """Every node, and the host of the clients where they have one."""
        ...

    def why_not(self, fault: PacketFault) -> str | None:
        """Why these links cannot show it, in a sentence; None if they can."""
        ...

    async def cut(self, links: Sequence[Link]) -> None:
        """The second of each pair hears nothing of the first any more."""
        ...

    async def shape(self, links: Sequence[Link], fault: PacketFault) -> None:
        """One fault to a link: a second one takes the place of the first."""
        ...

    async def heal(self) -> None: ...

    async def reachable(self) -> frozenset[Link]:
        """Every link on which what is sent arrives; the way back is another link."""
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


class ClientProcesses(Protocol):
    """The process of each client of a run, c1 for the first, wherever the clients live.

    To ask for what already is does nothing.
    """

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def is_over(self) -> bool:
        """The run is done with its clients: nobody runs any more, nor is started."""
        ...

    def process(self, client: str) -> str:
        """The one that it has now, or had last; by a word that no other of this client has."""
        ...

    async def kill(self, client: str) -> None:
        """Returns when it is gone. Nobody takes its place before `start`."""
        ...

    async def start(self, client: str) -> None:
        """Another process takes the place of the one that is gone, and goes on with its work."""
        ...

    async def pause(self, client: str) -> None: ...

    async def resume(self, client: str) -> None: ...

    async def is_running(self, client: str) -> bool:
        """A paused process runs."""
        ...

    async def is_paused(self, client: str) -> bool: ...

    async def idle(self, client: str, *, leaves: bool) -> None:
        """It begins no further operation. With `leaves` it leaves its group first."""
        ...

    async def wake(self, client: str) -> None: ...

    async def is_idle(self, client: str) -> bool:
        """Its last operation has ended, and it does nothing."""
        ...


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

    async def make_read_only(self, node: Node) -> None:
        """Whoever writes gets EROFS."""
        ...

    async def flip_bit(self, node: Node, draw: float) -> StoredDamage:
        """Flip a bit of a stored batch in a closed segment; `draw` in [0, 1) selects it.

        The node must be down. No heal undoes it.
        """
        ...

    async def truncate_tail(self, node: Node, draw: float) -> StoredDamage:
        """Cut bytes off the end of an active segment; otherwise the same as `flip_bit`."""
        ...

    async def lose_power(self, node: Node) -> None:
        """The host is off at once: its processes are gone, and so is what was not synced."""
        ...

    async def restore_power(self, node: Node) -> None:
        """The host is up again; nothing has been started on it. Does nothing to a host that is."""
        ...

    async def heal(self, *, but: Collection[Node] = ()) -> None:
        """Also restores power. The hosts in `but` are left as they are."""
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
        """True time on every node."""
        ...


class Wire(Protocol):
    """Faults of single messages, between clients and nodes and between nodes."""

    async def add(self, fault: MessageFault) -> None:
        """From now on, on open connections too. Its name must be a new one."""
        ...

    async def hits(self, name: str) -> int:
        """How many messages it took hold of. While that is 0 the fault has proved nothing."""
        ...

    async def answers(self, name: str) -> dict[str, int]:
        """How brokers answered the requests that it took hold of, by the name of the error."""
        ...

    async def heal(self) -> None:
        """No message is touched any more; the counts stay."""
        ...
