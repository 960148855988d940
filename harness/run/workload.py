"""The workload of a plan."""

from __future__ import annotations

from harness.run.plan import Plan
from workloads import make_workload
from workloads.base import Load, Workload


def workload_of(plan: Plan) -> Workload:
    return make_workload(
        plan.workload,
        Load(
            seed=plan.seed,
            clients=plan.concurrency,
            replication_factor=plan.replication_factor,
            topic_configs=plan.topic_config,
            key_dist=plan.key_dist,
        ),
    )
