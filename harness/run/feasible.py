"""Whether the nemeses of a plan can strike at all, as far as that is known before the run.

A nemesis that was asked for by name and never strikes makes a run unknown. Where that is certain
from the plan alone, the run is refused instead of being carried out.
"""

from __future__ import annotations

from math import ceil

from harness.run.plan import Plan
from harness.run.stage import racks_of
from harness.run.workload import workload_of
from nemesis import ALL, parse
from nemesis.base import Ground
from nemesis.plan import needed_ms


def ground_of(plan: Plan) -> Ground:
    workload, racks = workload_of(plan), racks_of(plan)
    return Ground(
        nodes=tuple(racks),
        clients=plan.concurrency,
        topic_configs={topic.name: topic.configs for topic in workload.topics},
        is_polled=workload.is_polled,
        replication_factor=plan.replication_factor,
        min_insync_replicas=plan.min_insync_replicas,
        racks=racks,
        unsafe_faults=plan.unsafe_faults,
        length_ms=plan.length_ms,
    )


def why_not_struck(plan: Plan) -> str | None:
    """Why a nemesis that the plan names is certain not to strike, and what to try; or None.

    A stored schedule brings its own faults, and `all` is whatever there is to strike.
    """
    if plan.schedule is not None or plan.nemesis == ALL:
        return None
    nemeses, ground = parse(plan.nemesis), ground_of(plan)
    for each in nemeses:
        reason = each.why_never(ground)
        if reason is not None:
            return f"--nemesis {each.name} would never strike: {reason}"
    needed_s = ceil(needed_ms(len(nemeses), plan.nemesis_interval_s * 1000) / 1000)
    if plan.time_limit_s >= needed_s:
        return None
    return (
        f"--time-limit {plan.time_limit_s:g} is too short for each of {len(nemeses)} nemeses to "
        f"strike; --time-limit {needed_s} would do"
    )
