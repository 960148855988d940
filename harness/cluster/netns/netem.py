"""Shapes links by netem, the kernel's own: at the switch, on the port of the one who receives."""

from __future__ import annotations

from harness.cluster.capabilities import Link, Node, PacketFault
from harness.cluster.netns.fate import QUEUE_S_MAX
from harness.cluster.netns.fleet import Fleet
from harness.cluster.netns.tools import must

_PACKET_BYTES = 1500
_PACKETS_MIN = 50
_PACKETS_MAX = 100_000
_LINE_SPEED = "rate 32gbit burst 2mb cburst 2mb quantum 60000"
_REORDERED_WITHIN_MS = 10.0


class NetemShaper:
    """Each port has a class for every sender that is shaped; the others pass untouched."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._prepared: set[Node] = set()

    async def set(self, link: Link, fault: PacketFault) -> None:
        source, target = link
        commands = ""
        if target not in self._prepared:
            commands = f"qdisc add dev {self._port(target)} root handle 1: htb\n"
            self._prepared.add(target)
        number = self._fleet.host(source).machine.address.number
        address = self._fleet.host(source).machine.address.data
        await self._tc(commands + shaping(self._port(target), number, address, fault))

    async def clear(self, link: Link) -> None:
        source, target = link
        number = self._fleet.host(source).machine.address.number
        if target in self._prepared:
            await self._tc(
                f"filter del dev {self._port(target)} parent 1: prio {number}\n"
                f"class del dev {self._port(target)} classid 1:{number:x}\n"
            )

    def forget(self, node: Node) -> None:
        """Its port is a new one."""
        self._prepared.discard(node)

    async def close(self) -> None:
        self._prepared.clear()

    def _port(self, node: Node) -> str:
        return self._fleet.host(node).machine.address.data_port

    async def _tc(self, commands: str) -> None:
        await self._fleet.switch.call(
            lambda: must(["tc", "-batch", "-"], why="shape a link at the switch", stdin=commands)
        )


def shaping(port: str, number: int, address: str, fault: PacketFault) -> str:
    """The commands that make a sender's packets to this port suffer."""
    return (
        f"class replace dev {port} parent 1: classid 1:{number:x} htb {_LINE_SPEED}\n"
        f"qdisc replace dev {port} parent 1:{number:x} handle {number + 1:x}: {_netem(fault)}\n"
        f"filter replace dev {port} parent 1: protocol ip prio {number} u32"
        f" match ip src {address}/32 flowid 1:{number:x}\n"
    )


def _netem(fault: PacketFault) -> str:
    words = [f"netem limit {_limit(fault)}"]
    delay_ms = fault.delay_ms
    if fault.reorder and not delay_ms:
        # Who overtakes does so by not being delayed.
        delay_ms = _REORDERED_WITHIN_MS
    if delay_ms or fault.jitter_ms:
        words.append(f"delay {delay_ms:.3f}ms {fault.jitter_ms:.3f}ms")
    shares = {
        "loss": fault.loss,
        "duplicate": fault.duplicate,
        "reorder": fault.reorder,
        "corrupt": fault.corrupt,
    }
    words += [f"{word} {100 * share:.4f}%" for word, share in shares.items() if share]
    if fault.bytes_per_s is not None:
        words.append(f"rate {int(8 * fault.bytes_per_s)}bit")
    return " ".join(words)


def _limit(fault: PacketFault) -> int:
    if fault.bytes_per_s is None:
        return _PACKETS_MAX
    kept = fault.bytes_per_s * QUEUE_S_MAX / _PACKET_BYTES
    return min(_PACKETS_MAX, max(_PACKETS_MIN, int(kept)))
