"""wire: faults of single messages on real connections, by a proxy before each broker.

One process is the proxy of the whole place (proxy_process.py). Brokers listen behind it and tell
everybody, each other included, the port at which it stands.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from harness.cluster.capabilities import Node, Wire
from harness.errors import EnvironmentFailure

if TYPE_CHECKING:
    from harness.wire.match import MessageFault

PROXIED_PORTS = (9092, 9093)
"""Those on which Kafka is spoken, by their usual numbers: to clients and in the quorum."""

WHY_NO_WIRE = "no proxy stands before these brokers; the place has to be made with wire=True"
_BEHIND = 10_000
_END_WITHIN_S = 5.0


def usual_behind(usual: int) -> int:
    """The usual number of the port behind the proxy."""
    return usual + _BEHIND if usual in PROXIED_PORTS else usual


class ProxiedWire:
    def __init__(self) -> None:
        self._process: Process | None = None
        self._speaking = asyncio.Lock()
        self._stands: dict[Node, int | None] = {}
        self._in_force: list[str] = []

    async def up(self, prefix: Sequence[str], peers: Mapping[str, Node]) -> None:
        """`prefix` is what to execute so that the proxy ends with its place; peers by address."""
        self._process = await asyncio.create_subprocess_exec(
            *prefix,
            sys.executable,
            "-m",
            "harness.cluster.proxy_process",
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,
        )
        await self._tell({"peers": dict(peers)})

    async def stand_before(
        self, node: Node, address: str, ports: Mapping[int, int], pid: int | None = None
    ) -> None:
        """From each port to the one behind it, in the namespace of that process if one is named.

        Does nothing where it stands already. A host that lost its power has a new namespace.
        """
        if node in self._stands:
            if self._stands[node] == pid:
                return
            await self._tell({"leave": node})
        self._stands[node] = pid
        for front, behind in ports.items():
            door = {"node": node, "front": [address, front], "behind": [address, behind]}
            await self._tell({"stand": {**door, "pid": pid}})

    async def add(self, fault: MessageFault) -> None:
        from harness.wire.match_json import fault_to_json

        await self._tell({"add": fault_to_json(fault)})
        self._in_force.append(fault.name)

    async def hits(self, name: str) -> int:
        return int((await self._tell({"hits": name}))["hits"])

    async def answers(self, name: str) -> dict[str, int]:
        answers: dict[str, int] = (await self._tell({"answers": name}))["answers"]
        return answers

    async def heal(self) -> None:
        while self._in_force:
            await self._tell({"remove": self._in_force[-1]})
            self._in_force.pop()

    async def down(self) -> None:
        """Safe at any time."""
        process, self._process = self._process, None
        self._stands.clear()
        self._in_force.clear()
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            async with asyncio.timeout(_END_WITHIN_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _tell(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            raise EnvironmentFailure("the proxy does not run, because its place is not up")
        # Whoever is cancelled must not leave an answer behind for the next to read.
        answer = await asyncio.shield(self._said(self._process, json.dumps(message)))
        if not answer:
            raise EnvironmentFailure("the proxy before the brokers has died")
        found: dict[str, Any] = json.loads(answer)
        if "error" in found:
            raise EnvironmentFailure(f"the proxy before the brokers: {found['error']}")
        return found

    async def _said(self, process: Process, line: str) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        async with self._speaking:
            process.stdin.write(line.encode() + b"\n")
            return await process.stdout.readline()


def _check(wire: ProxiedWire) -> Wire:
    """Has mypy hold it to what nemeses expect."""
    return wire
