"""From a schedule to a run that is ready to begin: hosts, nodes, faults in their places.

Operations are left to whoever brings the clients.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.schedule.schedule import Schedule
from harness.sim.director import Director
from harness.sim.nodes import SimCluster
from harness.sim.simulation import Simulation
from harness.wire.match import MessageFaults


@dataclass(frozen=True, slots=True)
class Stage:
    schedule: Schedule
    simulation: Simulation
    cluster: SimCluster
    director: Director
    message_faults: MessageFaults | None


def set_up(
    schedule: Schedule, *, is_one_cluster: bool = True, restart_after_exit_s: float | None = 1.0
) -> Stage:
    """Nothing runs yet. Faults strike at their times, counted from the run's beginning."""
    clusters: list[SimCluster] = []
    message_faults = (
        MessageFaults(
            schedule.message_faults, topic_name_of=lambda topic: clusters[0].topic_name(topic)
        )
        if schedule.message_faults
        else None
    )
    simulation = Simulation(
        schedule.seed, overrides=schedule.overrides, message_faults=message_faults
    )
    try:
        cluster = _cluster(simulation, schedule, is_one_cluster, restart_after_exit_s)
        clusters.append(cluster)
        director = Director(cluster)
        director.plan(schedule.faults)
    except BaseException:
        simulation.close()
        raise
    return Stage(schedule, simulation, cluster, director, message_faults)


def _cluster(
    simulation: Simulation,
    schedule: Schedule,
    is_one_cluster: bool,
    restart_after_exit_s: float | None,
) -> SimCluster:
    for client in schedule.operations:
        simulation.network.host(client)
    return SimCluster(
        simulation,
        schedule.nodes,
        schedule.properties,
        is_one=is_one_cluster,
        crash_points=schedule.crash_points,
        restart_after_exit_s=restart_after_exit_s,
    )
