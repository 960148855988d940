"""All is mended, whatever was broken by whomever: the last word of a run's faults."""

from __future__ import annotations

from collections.abc import Awaitable
from itertools import permutations

from harness.cluster import Cluster
from harness.errors import EnvironmentFailure

_CLOCK_ERROR_S = 0.1


async def heal_cluster(cluster: Cluster) -> list[str]:
    """What could not be mended, each as a sentence."""
    if not cluster.nodes:
        return []
    complaints: list[str] = []
    # Power first: a host that is off has neither links nor processes.
    for capability in (cluster.disk, cluster.network, cluster.clock, cluster.wire):
        if capability is not None:
            await _try(capability.heal(), complaints)
    if cluster.process is not None:
        for node in cluster.nodes:
            await _try(cluster.process.resume(node), complaints)
        # All at once: one alone would wait for a majority.
        await _try(cluster.start(), complaints)
    await _try(_look(cluster, complaints), complaints)
    return complaints


async def _look(cluster: Cluster, complaints: list[str]) -> None:
    if cluster.network is not None:
        missing = set(permutations(cluster.network.hosts, 2)) - await cluster.network.reachable()
        if missing:
            shown = ", ".join(f"{source} to {target}" for source, target in sorted(missing)[:3])
            complaints.append(f"after the healing nothing arrives from {shown}")
    if cluster.process is not None:
        for node in cluster.nodes:
            if not await cluster.process.is_running(node):
                complaints.append(f"after the healing {node} does not run")
            elif await cluster.process.is_paused(node):
                complaints.append(f"after the healing {node} stands still")
    if cluster.clock is not None:
        for node in cluster.nodes:
            offset_s = await cluster.clock.offset_s(node)
            if abs(offset_s) > _CLOCK_ERROR_S:
                complaints.append(f"after the healing the clock of {node} is {offset_s:+g} s off")


async def _try(deed: Awaitable[None], complaints: list[str]) -> None:
    try:
        await deed
    except EnvironmentFailure as failure:
        complaints.append(f"not healed: {failure}")
    except TimeoutError:
        complaints.append("not healed within its time")
    except OSError as failure:
        complaints.append(f"not healed: {failure}")
