"""One simulated run from beginning to end: a schedule is carried out, healed, read back, judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.decisions import Decisions
from harness.history.op import Op
from harness.native.errors import ClientError
from harness.native.settings import ClientSettings
from harness.schedule.schedule import Schedule, ScheduleError
from harness.sim.actors import Actor
from harness.sim.healing import first_ack_s, healed_s
from harness.sim.invariants import invariants
from harness.sim.invariants.base import Cost, InvariantBroken, Violation
from harness.sim.invariants.comeback import REJOIN, Comeback, await_comeback, comeback
from harness.sim.invariants.watch import Watch
from harness.sim.judgement import problems
from harness.sim.loop import SimulationError
from harness.sim.member_operations import Members, draw_member_operations
from harness.sim.node_errors import PropertiesError
from harness.sim.operation_forms import (
    PARTITIONS,
    check_operations,
    has_transactions,
    is_transactional,
    partitions_of,
)
from harness.sim.operations import REPLICAS, Load, draw_operations
from harness.sim.processes import SimProcess
from harness.sim.purposes import check_overrides
from harness.sim.record import Record
from harness.sim.stage import Stage, set_up
from harness.sim.swarm import Setting, with_swarm
from harness.sim.totals import Totals
from harness.sim.transaction_actor import TRANSFORMED, WRITTEN, TransactionActor
from harness.sim.transaction_operations import Transactors, draw_transactions

NODES = 5
LENGTH_MS = 40_000.0
BEGIN_MS = 4_000.0
"""By then the cluster is up."""
CALM_MS = 10_000.0
"""At the end of a run no fault strikes."""
SETTLE_S = 120.0
READ_BACK_S = 90.0
"""Longer than the time-outs of transactions, after which nothing may be open."""

_COMPACTED = {
    # Small segments, cleaned often, so that coordinators load logs that have gaps.
    "transaction.state.log.segment.bytes": "4000",
    "offsets.topic.segment.bytes": "4000",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.min.cleanable.ratio": "0.2",
}

HistoryJudge = Callable[[Sequence[Op]], list[str]]
"""Says what is wrong with a history, one sentence for each finding."""

_SETTINGS = ClientSettings(request_timeout_s=5.0, connect_timeout_s=2.0, delivery_timeout_s=60.0)


@dataclass(slots=True)
class Ended:
    schedule: Schedule
    problems: list[str]
    totals: Totals
    first_ack_s: float | None
    """From the end of the last fault to a write acknowledged in every partition; None: never."""
    digest: str
    length_s: float
    unsettled: int
    broken: Violation | None
    """The invariant that ended the run before its time."""
    looks: dict[str, int] = field(default_factory=dict)
    """How often each invariant had something to compare."""
    missed: tuple[str, ...] = ()
    """Entries of the schedule that never took hold."""
    stopped: str | None = None
    """What the run could not go on with, before it could be judged."""
    transactions_read_back: bool = True
    comeback: Comeback = field(default_factory=Comeback)
    """What did not come back when all was healed."""


def draw_schedule(
    seed: int,
    *,
    nodes: int = NODES,
    length_ms: float = LENGTH_MS,
    groups: bool = False,
    transactions: bool = False,
) -> Schedule:
    """Everything that a seed decides, as a file that can be kept, cut down and played again.

    With `groups`, members of consumer groups and their faults come on top, and with `transactions`
    transactional clients; with both, members that consume, transform and produce.
    """
    decisions = Decisions(seed)
    load = Load(begin_ms=BEGIN_MS, end_ms=length_ms, nodes=nodes, partitions=PARTITIONS)
    members = Members(begin_ms=BEGIN_MS, end_ms=length_ms)
    more = draw_member_operations(decisions, members) if groups else {}
    properties = _properties(decisions, nodes)
    if transactions:
        wanted = Transactors(
            transformers=3 if groups else 0, begin_ms=BEGIN_MS, end_ms=length_ms - CALM_MS / 2
        )
        more |= draw_transactions(decisions, wanted)
        properties |= transaction_properties(nodes)
        if decisions.of("swarm_mix", "compacted coordinators").at(0) < 0.5:
            properties |= _COMPACTED
    schedule = Schedule(
        seed=seed,
        nodes=nodes,
        length_ms=length_ms,
        properties=properties,
        operations={**draw_operations(decisions, load), **more},
    )
    setting = Setting(
        nodes=tuple(f"n{number}" for number in range(1, nodes + 1)),
        clients=(*load.clients, *more),
        begin_ms=BEGIN_MS + 1_000.0,
        end_ms=length_ms - CALM_MS,
        groups=groups,
        transactions=transactions,
    )
    return with_swarm(schedule, setting)


def _properties(decisions: Decisions, nodes: int) -> dict[str, str]:
    """Half of the seeds with Kafka's own intervals, half with short ones: more happens."""
    properties = {
        "min.insync.replicas": "2",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": str(min(REPLICAS, nodes)),
    }
    if decisions.of("swarm_mix", "short intervals").at(0) < 0.5:
        properties |= {
            "broker.session.timeout.ms": "1500",
            "broker.heartbeat.interval.ms": "300",
            "controller.quorum.fetch.timeout.ms": "1000",
            "controller.quorum.election.timeout.ms": "500",
            "replica.lag.time.max.ms": "2000",
        }
    if decisions.of("swarm_mix", "snapshots").at(0) < 0.5:
        # Often enough that a node which was away for long has to fetch one.
        properties["metadata.log.max.record.bytes.between.snapshots"] = "4000"
    if decisions.of("swarm_mix", "small segments").at(0) < 0.5:
        # A few batches to each, so that logs are rolled all the time.
        size = int(10 ** (2.5 + decisions.of("swarm_mix", "segment size").at(0)))
        properties["log.segment.bytes"] = str(size)
    return properties


def transaction_properties(nodes: int) -> dict[str, str]:
    """One partition of coordinators, so that a move concerns all, and a look for transactions that
    are over every second."""
    return {
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": str(min(REPLICAS, nodes)),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    }


def run_schedule(
    schedule: Schedule,
    *,
    watching: Cost | None = Cost.EXPENSIVE,
    trace_file: Path | None = None,
    judge: HistoryJudge | None = None,
) -> Ended:
    """A broken invariant ends the run, and is told; so is what else it could not go on with.

    With None nothing is watched. `judge` says what is wrong with the history of transactional
    clients. Raises ScheduleError.
    """
    check_operations(schedule)
    check_overrides(schedule)
    try:
        stage = set_up(schedule)
    except PropertiesError as error:
        raise ScheduleError(f"properties: {error}") from None
    watch = None
    if watching is not None:
        watch = Watch(stage.cluster, invariants(watching))
    try:
        return _run(stage, watch, judge)
    finally:
        if trace_file is not None:
            from harness.sim.trace_file import write_trace

            write_trace(stage.simulation.trace, trace_file)


def _run(stage: Stage, watch: Watch | None, judge: HistoryJudge | None) -> Ended:
    schedule, record = stage.schedule, Record()
    broken: Violation | None = None
    stopped: str | None = None
    simulation = stage.simulation
    limit_s = schedule.length_ms / 1000 + SETTLE_S
    with simulation:
        try:
            simulation.run(_play(stage, record), deadline_s=limit_s + SETTLE_S)
        except InvariantBroken as finding:
            broken = finding.violation
        except (SimulationError, ClientError) as error:
            stopped = _told(error)
        counts = {} if stage.message_faults is None else stage.message_faults.counts()
        back = Comeback() if broken else comeback(stage, record)
        return Ended(
            schedule=schedule,
            broken=broken,
            stopped=stopped,
            problems=[] if broken or stopped else _problems(record, judge),
            totals=Totals.of(
                record,
                simulation.trace,
                messages_cut=simulation.network.messages_held,
                message_faults=sum(each.hit for each in counts.values()),
            ),
            first_ack_s=first_ack_s(record, healed_s(simulation.trace, record)),
            digest=simulation.trace.digest(),
            length_s=simulation.now_s,
            unsettled=sum(sent.outcome is None for sent in record.sends),
            transactions_read_back=record.transactions_read_back,
            looks={} if watch is None else {**watch.looks, REJOIN: back.looks},
            missed=tuple(_missed(stage)),
            comeback=back,
        )


def _problems(record: Record, judge: HistoryJudge | None) -> list[str]:
    found = list(problems(record))
    if judge is not None and record.history:
        found += judge(record.history.ops())
    return found


def _missed(stage: Stage) -> Iterator[str]:
    for fault in stage.schedule.faults:
        if fault.name not in stage.director.took_hold:
            yield f"fault {fault.name}"
    if stage.message_faults is not None:
        for name, count in stage.message_faults.counts().items():
            if not count.hit:
                yield f"message fault {name} ({count.matched} messages matched)"
    for node in stage.cluster.nodes.values():
        for point in node.unmet_crash_points:
            yield f"crash point {point.when} {point.operation} {point.nth} of {node.name}"


def _told(error: BaseException) -> str:
    told = str(error) or type(error).__name__
    return told if error.__cause__ is None else f"{told}: {error.__cause__!r}"


async def _play(stage: Stage, record: Record) -> None:
    schedule, simulation = stage.schedule, stage.simulation
    await stage.cluster.start()
    partitions = partitions_of(schedule)
    judge = Actor("judge", stage, record, _SETTINGS)
    actors: dict[str, Actor | TransactionActor] = {
        name: TransactionActor(name, stage, record)
        if is_transactional(operations)
        else Actor(name, stage, record, _SETTINGS)
        for name, operations in schedule.operations.items()
    }
    processes = {name: SimProcess(simulation, name) for name in (*actors, "judge")}
    await processes["judge"].start(judge.create_topic(partitions))
    if has_transactions(stage.schedule):
        for topic in (WRITTEN, TRANSFORMED):
            await processes["judge"].start(judge.create_topic(PARTITIONS, topic))
    playing = [
        processes[name].start(actors[name].run(operations))
        for name, operations in schedule.operations.items()
    ]
    for each in playing:
        await each
    await asyncio.sleep(max(0.0, schedule.length_ms / 1000 - simulation.now_s))
    await processes["judge"].start(judge.ask_again(partitions))
    try:
        await processes["judge"].start(judge.read_everything(partitions))
        await processes["judge"].start(judge.read_commits())
        if has_transactions(stage.schedule):
            reader = TransactionActor("judge", stage, record)
            reading = reader.read_back(simulation.now_s + READ_BACK_S)
            record.transactions_read_back = await processes["judge"].start(reading)
    except ClientError:
        # What cannot be read may be a cluster that does not come back, and that is a finding.
        await await_comeback(stage)
        raise
    await await_comeback(stage)
