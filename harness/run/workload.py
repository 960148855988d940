"""The workload of a plan, and whether it can be judged as it is configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from checkers.contract import TimestampType
from harness.registry import KAFKA, REGISTRY
from harness.run.plan import Plan
from workloads import make_workload
from workloads.base import Load, Membership, WithGroups, WithTransactions, Workload

_MS = {
    "retention.ms": 1,
    "log.retention.ms": 1,
    "log.retention.minutes": 60_000,
    "log.retention.hours": 3_600_000,
}
_BYTES = {"retention.bytes": 1, "log.retention.bytes": 1}
"""Settings of topics, then of brokers: the first that is there counts, in these units."""
_MARGIN_MS = 3_600_000
"""For setting up and reading back, and for clocks that a nemesis puts ahead."""
_OF_WHOLE_LOGS = frozenset({"list-append", "lost-append", "replaced-get"})
"""Checkers that do not know where a log begins: what retention deletes is lost to them."""


def workload_of(plan: Plan) -> Workload:
    return make_workload(
        plan.workload,
        Load(
            seed=plan.seed,
            clients=plan.concurrency,
            replication_factor=plan.replication_factor,
            topic_configs=plan.topic_config,
            key_dist=plan.key_dist,
            burst=plan.burst_max,
            batch_bytes_max=plan.batch_bytes_max,
            transactions=plan.transactions,
            transaction_timeout_ms=plan.transaction_timeout_ms,
        ),
    )


def memberships(plan: Plan) -> dict[str, Membership]:
    """By client (c1, c2, ...): those that are members of consumer groups."""
    workload = workload_of(plan)
    if not isinstance(workload, WithGroups):
        return {}
    found = {f"c{at + 1}": workload.membership(at) for at in range(plan.concurrency)}
    return {client: each for client, each in found.items() if each is not None}


def transactional_ids(plan: Plan) -> tuple[str, ...]:
    """transactional.id of all producers of a run; none without transactions."""
    workload = workload_of(plan)
    return tuple(workload.transactional_ids) if isinstance(workload, WithTransactions) else ()


def deletes(plan: Plan) -> str | None:
    """The setting by which records may be deleted while the run goes on."""
    for topic in workload_of(plan).topics:
        configs = {**plan.broker_config, **topic.configs}
        policy = configs.get("cleanup.policy", configs.get("log.cleanup.policy", "delete"))
        if "delete" in policy:
            needed_ms = plan.length_ms + _MARGIN_MS
            found = _below(configs, _MS, needed_ms) or _below(configs, _BYTES, float("inf"))
            if found is not None:
                return found
    return None


def _below(configs: Mapping[str, str], units: Mapping[str, int], enough: float) -> str | None:
    """The setting, if it keeps less than enough; a negative number keeps everything."""
    for name, unit in units.items():
        if name in configs:
            try:
                kept = int(configs[name]) * unit
            except ValueError:  # which the brokers will refuse
                return None
            return f"{name}={configs[name]}" if 0 <= kept < enough else None
    return None


def timestamp_type(plan: Plan) -> TimestampType | None:
    """message.timestamp.type of the workload's topics; None if the plan does not decide it.

    A cluster that runs already, or that speaks another protocol, may have another default.
    """
    is_ours = plan.on != "running" and REGISTRY.systems[plan.system].protocol == KAFKA
    default = plan.broker_config.get("log.message.timestamp.type", "CreateTime" if is_ours else "")
    configs = [topic.configs for topic in workload_of(plan).topics]
    found = {each.get("message.timestamp.type", default) for each in configs}
    for known in get_args(TimestampType):
        if found == {known}:
            return cast("TimestampType", known)
    return None


def why_not_judged(plan: Plan) -> str | None:
    """Reason why a verdict about this plan would prove nothing, or None."""
    setting = deletes(plan)
    if setting is None or _OF_WHOLE_LOGS.isdisjoint(workload_of(plan).checkers):
        return None
    return (
        f"-w {plan.workload} is judged by whole logs, and {setting} may delete their beginnings "
        "during the run; leave it out, or try -w queue, which knows where logs begin"
    )
