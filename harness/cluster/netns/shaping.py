"""By what this kernel can shape links, found out by trying it in a namespace made for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Protocol

from harness.cluster.capabilities import Link, Node, PacketFault
from harness.cluster.netns.fleet import Fleet
from harness.cluster.netns.namespaces import inside, made_network
from harness.cluster.netns.netem import NetemShaper
from harness.cluster.netns.packet_queue import PacketQueue
from harness.cluster.netns.queues import QueueShaper
from harness.cluster.netns.tools import must
from harness.errors import EnvironmentFailure


class Shaper(Protocol):
    async def set(self, link: Link, fault: PacketFault) -> None:
        """In place of the one before."""
        ...

    async def clear(self, link: Link) -> None: ...

    def forget(self, node: Node) -> None:
        """The host has just come back, and nothing of what was set at it is left."""
        ...

    async def close(self) -> None: ...


def shaper(fleet: Fleet) -> Shaper:
    return NetemShaper(fleet) if has_netem() else QueueShaper(fleet)


def why_not_shaped(fault: PacketFault) -> str | None:
    if has_netem():
        return None
    if complaint := _why_no_queue():
        return (
            "this kernel has no netem, nor what stands in for it "
            f"(apt-get install iptables; xt_NFQUEUE in the kernel): {complaint}"
        )
    if fault.duplicate and (complaint := _why_no_tee()):
        return f"this kernel can double no packet (netem or xt_TEE): {complaint}"
    return None


@cache
def has_netem() -> bool:
    return _complaint("tc qdisc add dev lo root netem delay 1ms".split()) is None


@cache
def _why_no_queue() -> str | None:
    rule = "iptables -w -A INPUT -j NFQUEUE --queue-num 1 --queue-bypass".split()
    return _complaint(rule, queue=1)


@cache
def _why_no_tee() -> str | None:
    share = "-m statistic --mode random --probability 0.5"
    tee = f"iptables -w -t mangle -A POSTROUTING {share} -j TEE --gateway 127.0.0.1"
    return _complaint(tee.split())


def _complaint(argv: Sequence[str], *, queue: int | None = None) -> str | None:
    """None if it can be done."""

    def attempt() -> None:
        must(argv, why=f"do {argv[0]}")
        if queue is not None:
            PacketQueue(queue, whole=False).close()

    try:
        network = made_network()
    except OSError as error:
        return str(error)
    try:
        inside(network, attempt)
    except (EnvironmentFailure, OSError) as error:
        return str(error)
    finally:
        os.close(network)
    return None
