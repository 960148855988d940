"""Shapes links where the kernel has no netem: a process of ours keeps their packets back.

At the one who receives, before its own processes: kept back at the sender, a packet would count as
unsent there, and TCP would send next to nothing. Duplicates are made at the sender, by the kernel.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from harness.cluster.capabilities import Link, Node, PacketFault
from harness.cluster.netns.fleet import Fleet
from harness.cluster.netns.machine import Machine
from harness.cluster.netns.namespaces import inside, network_of
from harness.cluster.netns.tools import must, tool
from harness.errors import EnvironmentFailure

_ANSWER_WITHIN_S = 30.0
_IPTABLES = ("iptables", "-w")


class QueueShaper:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._keeper: subprocess.Popen[str] | None = None
        self._starting = asyncio.Lock()
        self._speaking = threading.Lock()
        self._rules: dict[Link, list[tuple[Node, int, Sequence[str]]]] = {}
        """With the first process of each host, which is another after a loss of power."""

    async def set(self, link: Link, fault: PacketFault) -> None:
        async with self._starting:
            if self._keeper is None:
                self._keeper = await self._fleet.launch(lambda: _started(self._fleet))
        await self._fleet.call(lambda: self._set(link, fault))

    async def clear(self, link: Link) -> None:
        await self._fleet.call(lambda: self._clear(link))

    def forget(self, node: Node) -> None:
        """Its namespace is a new one, without any rule of ours."""

    async def close(self) -> None:
        keeper, self._keeper = self._keeper, None
        self._rules.clear()
        if keeper is not None:
            await self._fleet.call(lambda: _end(keeper))

    def _set(self, link: Link, fault: PacketFault) -> None:
        self._clear(link)
        source, target = (self._fleet.host(node).machine for node in link)
        number = str(source.address.number)
        self._tell(_about(link, target, source.address.number, fault))
        kept = f"INPUT -i eth0 -s {source.address.data} -j NFQUEUE --queue-num {number}"
        self._add(link, target, [*kept.split(), "--queue-bypass"])
        if fault.duplicate:
            doubled = (
                f"-t mangle POSTROUTING -o eth0 -d {target.address.data} -m statistic --mode random"
                f" --probability {fault.duplicate:.6f} -j TEE --gateway {target.address.data}"
            )
            self._add(link, source, doubled.split())

    def _add(self, link: Link, machine: Machine, rule: Sequence[str]) -> None:
        _iptables(machine, "-A", rule)
        self._rules.setdefault(link, []).append((machine.node, machine.pid, rule))

    def _clear(self, link: Link) -> None:
        for node, pid, rule in self._rules.pop(link, ()):
            machine = self._fleet.host(node).machine
            if machine.is_on and machine.pid == pid:
                _iptables(machine, "-D", rule)
        source, target = (self._fleet.host(node).machine for node in link)
        if target.is_on:
            # A keeper that has died keeps nothing back.
            with suppress(EnvironmentFailure):
                self._tell(_about(link, target, source.address.number, None))

    def _tell(self, message: dict[str, Any]) -> None:
        keeper = self._keeper
        if keeper is None:
            raise EnvironmentFailure("no process is there to keep packets back")
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        with self._speaking:
            try:
                keeper.stdin.write(json.dumps(message) + "\n")
                keeper.stdin.flush()
                # It answers every line with one, so nothing is in the buffer of the last one.
                is_heard, _, _ = select.select([keeper.stdout], [], [], _ANSWER_WITHIN_S)
                answer = keeper.stdout.readline() if is_heard else ""
            except BrokenPipeError:
                answer = ""
        if not answer:
            self._keeper = None
            _end(keeper)
            raise EnvironmentFailure("the process that keeps packets back has died")
        if error := json.loads(answer).get("error"):
            raise EnvironmentFailure(f"cannot keep packets back: {error}")


def _started(fleet: Fleet) -> subprocess.Popen[str]:
    keeper = sys.executable, "-m", "harness.cluster.netns.packet_keeper"
    return subprocess.Popen(
        fleet.companion([tool("setpriv"), "--pdeathsig", "KILL", *keeper]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _end(keeper: subprocess.Popen[str]) -> None:
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    with suppress(BrokenPipeError):
        keeper.stdin.close()
    try:
        keeper.wait(_ANSWER_WITHIN_S)
    except subprocess.TimeoutExpired:
        keeper.kill()
    keeper.stdout.close()


def _about(link: Link, target: Machine, queue: int, fault: PacketFault | None) -> dict[str, Any]:
    told = None if fault is None else asdict(fault)
    return {"pid": target.pid, "queue": queue, "link": ">".join(link), "fault": told}


def _iptables(machine: Machine, action: str, rule: Sequence[str]) -> None:
    """The first words of a rule may name its table; the action comes just before the chain."""
    at = 2 if rule[0] == "-t" else 0
    argv = [*_IPTABLES, *rule[:at], action, *rule[at:]]
    network = network_of(machine.pid)
    try:
        inside(network, lambda: must(argv, why=f"shape a link of {machine.node}"))
    finally:
        os.close(network)
