"""Heals a whole cluster, whichever faults were injected, and verifies the result."""

from __future__ import annotations

from collections.abc import Awaitable
from itertools import permutations

from harness.cluster import Cluster
from harness.doubts import Doubt, DoubtKind
from harness.errors import EnvironmentFailure

_CLOCK_ERROR_S = 0.1


async def heal_cluster(cluster: Cluster) -> list[Doubt]:
    """Heal everything and return what could not be healed."""
    if not cluster.nodes:
        return []
    complaints: list[Doubt] = []
    # Power first: a host that is off has neither links nor processes.
    for capability in (cluster.disk, cluster.network, cluster.clock, cluster.wire):
        if capability is not None:
            await _try(capability.heal(), complaints)
    if cluster.process is not None:
        for node in cluster.nodes:
            await _try(cluster.process.resume(node), complaints)
        # Started together, because a single node would wait for a majority.
        await _try(cluster.start(), complaints)
    await _try(_look(cluster, complaints), complaints)
    return complaints


async def _look(cluster: Cluster, complaints: list[Doubt]) -> None:
    if cluster.network is not None:
        missing = set(permutations(cluster.network.hosts, 2)) - await cluster.network.reachable()
        if missing:
            shown = ", ".join(f"{source} to {target}" for source, target in sorted(missing)[:3])
            complaints.append(_unhealed(f"no packet arrives from {shown}"))
    if cluster.process is not None:
        for node in cluster.nodes:
            if not await cluster.process.is_running(node):
                complaints.append(_unhealed(f"{node} is not running", node))
            elif await cluster.process.is_paused(node):
                complaints.append(_unhealed(f"{node} is still paused", node))
    if cluster.clock is not None:
        for node in cluster.nodes:
            offset_s = await cluster.clock.offset_s(node)
            if abs(offset_s) > _CLOCK_ERROR_S:
                complaints.append(_unhealed(f"the clock of {node} is {offset_s:+g} s off", node))


async def _try(deed: Awaitable[None], complaints: list[Doubt]) -> None:
    try:
        await deed
    except TimeoutError:
        complaints.append(_unhealed("a step timed out"))
    except (EnvironmentFailure, OSError) as failure:
        complaints.append(_unhealed(str(failure)))


def _unhealed(detail: str, node: str = "") -> Doubt:
    return Doubt(DoubtKind.NOT_HEALED, node, detail)
