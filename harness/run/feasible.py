"""Whether a plan can come to a verdict at all, as far as that is known before the run.

A nemesis that was asked for by name and never strikes makes a run unknown, and so do writes that
are too few or that no broker takes. Where that is certain from the plan alone, the run is refused
instead of being carried out.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from math import ceil

from checkers.registry import all_checkers
from harness.client.base import Invocation
from harness.client.driver import place_of
from harness.client.payload import encode, value_of
from harness.cluster.parts import why_lacking
from harness.history.operations import is_write
from harness.registry import REGISTRY, is_ours
from harness.run.plan import Plan
from harness.run.plugin_workload import why_unusable
from harness.run.property_values import whole_number
from harness.run.stage import racks_of
from harness.run.workload import memberships, transactional_ids, workload_of
from nemesis import ALL, parse
from nemesis.base import Ground
from nemesis.plan import needed_ms
from workloads.base import WithGroups, Workload

WRITES_MIN = 50
"""Writes that must go well for a verdict, as `harness.run.judging` counts them."""
_LOOKED_AT_MAX = 1000
"""Number of operations that are drawn to count their writes; of more, enough are writes."""
_OPERATIONS_ENOUGH = 200
"""Every workload writes with at least a third of so many operations."""
_BATCH_BYTES = 61 + 20
"""Header of a batch of one record, and the numbers and lengths of that record at their longest."""
_NO_CONNECTIONS = (
    "max.connections",
    "max.connections.per.ip",
    "listener.name.plaintext.max.connections",
    "listener.name.controller.max.connections",
)


def ground_of(plan: Plan) -> Ground:
    workload, racks = workload_of(plan), racks_of(plan)
    kind = REGISTRY.systems[plan.system]
    members = memberships(plan)
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
        system=plan.system,
        parts=kind.parts,
        protocol=kind.protocol,
        flushes=kind.flushes,
        members=tuple(members),
        groups=tuple(sorted({each.group for each in members.values()})),
        transactional_ids=transactional_ids(plan),
    )


def why_not_struck(plan: Plan) -> str | None:
    """Reason why a nemesis of the plan certainly never strikes, and what to try; or None.

    A stored schedule brings its own faults, and `all` means every nemesis that can strike.
    """
    if plan.schedule is not None or plan.nemesis == ALL:
        return None
    nemeses, ground = parse(plan.nemesis), ground_of(plan)
    for each in nemeses:
        reason = why_lacking(each.needs, ground.parts, ground.system) or each.why_never(ground)
        if reason is not None:
            return f"--nemesis {each.name} cannot strike in this run: {reason}"
    needed_s = ceil(needed_ms(len(nemeses), plan.nemesis_interval_s * 1000) / 1000)
    if plan.time_limit_s >= needed_s:
        return None
    return (
        f"--time-limit {plan.time_limit_s:g} is too short for each of {len(nemeses)} nemeses to "
        f"strike; try --time-limit {needed_s}"
    )


def why_no_verdict(plan: Plan) -> str | None:
    """Reason why a run of this plan certainly has too few writes for a verdict; or None."""
    workload = workload_of(plan)
    return (
        _why_no_checker(plan, workload)
        or _why_no_part(plan, workload)
        or _why_no_operation(plan, workload)
        or why_unusable(plan, workload)
        or _why_transactions(plan)
        or _why_too_few_clients(plan, workload)
        or _why_no_connection(plan)
        or _why_no_record(plan, workload)
        or _why_too_few_writes(plan, workload)
    )


def _why_no_checker(plan: Plan, workload: Workload) -> str | None:
    # Ours have checkers that tests know; to find those takes longer than a refusal may.
    if is_ours(REGISTRY.workloads[plan.workload]):
        return None
    unknown = [name for name in workload.checkers if name not in all_checkers()]
    if not unknown:
        return None
    close = get_close_matches(unknown[0], all_checkers(), n=1)
    hint = f"did you mean {close[0]}?" if close else "harness checkers lists those that there are"
    return f"-w {plan.workload} names the checker {unknown[0]!r}, which does not exist; {hint}"


def _why_no_part(plan: Plan, workload: Workload) -> str | None:
    lacking = why_lacking(workload.needs, REGISTRY.systems[plan.system].parts, plan.system)
    return None if lacking is None else f"-w {plan.workload} cannot be used: {lacking}"


def _why_no_operation(plan: Plan, workload: Workload) -> str | None:
    kind = REGISTRY.clients[plan.client]
    if kind.operations is None and not kind.lacks:
        return None
    for each in _drawn(plan, workload):
        lacking = f"-w {plan.workload} cannot be used: client {plan.client} lacks {each.f}"
        if each.f in kind.lacks:
            return f"{lacking}; try --client confluent"
        if kind.operations is not None and each.f not in kind.operations:
            return f"{lacking}; it has {', '.join(sorted(kind.operations))}"
    return None


def _drawn(plan: Plan, workload: Workload) -> Iterator[Invocation]:
    """Sample of the workload's operations from every client, since clients may have roles."""
    for client in range(plan.concurrency):
        yield from workload.opening(client, client)
        yield from (
            workload.operation(client, ordinal)
            for ordinal in range(_LOOKED_AT_MAX // plan.concurrency)
        )
        yield from workload.closing(client, 0)


def _why_transactions(plan: Plan) -> str | None:
    if plan.transactions or not transactional_ids(plan):
        return None
    return f"-w {plan.workload} is nothing without transactions; leave --no-transactions out"


def _why_too_few_clients(plan: Plan, workload: Workload) -> str | None:
    if isinstance(workload, WithGroups) and plan.concurrency < workload.clients_min:
        return (
            f"-w {plan.workload} needs at least {workload.clients_min} clients, and "
            f"--concurrency is {plan.concurrency}; try --concurrency {3 * workload.clients_min}"
        )
    return None


def _why_no_connection(plan: Plan) -> str | None:
    for name in _NO_CONNECTIONS:
        is_overridden = f"{name}.overrides" in plan.broker_config
        if _number(plan.broker_config.get(name)) == 0 and not is_overridden:
            return f"--broker-config {name}=0 allows no connection to a broker; leave it out"
    return None


def _why_no_record(plan: Plan, workload: Workload) -> str | None:
    for topic in workload.topics:
        configs = {**plan.broker_config, **topic.configs}
        key = f"{topic.name}-{topic.partitions - 1}"
        written = workload.write(plan.concurrency - 1, 0, key).value[0]
        longest = value_of(plan.concurrency - 1, 2**32 - 1)
        name = place_of(written[1]).name
        policy = configs.get("cleanup.policy", configs.get("log.cleanup.policy", ""))
        if name is None and "compact" in policy:
            return (
                f"cleanup.policy={policy} needs records with keys, and those of -w "
                f"{plan.workload} have none; leave it out, or try -w register"
            )
        most = _BATCH_BYTES + len(name or "") + len(encode(written[1], longest))
        for limit in ("max.message.bytes", "message.max.bytes"):
            allowed = _number(configs.get(limit))
            if allowed is not None and allowed < most:
                return (
                    f"{limit}={allowed} is too small for -w {plan.workload}, whose records take up "
                    f"to {most} bytes; try {limit}={most}"
                )
            if limit in configs:
                break
    return None


def _why_too_few_writes(plan: Plan, workload: Workload) -> str | None:
    # Simulated clients wait between operations at any rate.
    rate = plan.rate or (1000.0 if plan.on == "sim" else float("inf"))
    # The clients take turns and do not make up for delays. One more for rounding.
    count = plan.time_limit_s * rate + 1
    if count > _LOOKED_AT_MAX:
        return None
    writes = ceil(count)
    # A killed client skips operations and performs later ones instead.
    if "client" not in plan.faults and plan.schedule is None:
        writes = sum(
            _is_write(workload.operation(turn % plan.concurrency, turn // plan.concurrency))
            for turn in range(writes)
        )
    if writes >= WRITES_MIN:
        return None
    enough = f"{_OPERATIONS_ENOUGH / plan.time_limit_s:.3g}"
    return (
        f"--rate {plan.rate:g} and --time-limit {plan.time_limit_s:g} allow at most {writes} writes"
        f", and a verdict needs {WRITES_MIN}; try --rate {enough}, or a longer --time-limit"
    )


def _is_write(invocation: Invocation) -> bool:
    return is_write(invocation.f, invocation.value)


def _number(said: str | None) -> int | None:
    """None also for a value that the brokers refuse."""
    try:
        return None if said is None else whole_number(said)
    except ValueError:
        return None
