"""Carries each row against all its systems in turn, round by round.

The systems take turns within a round, so that whatever else happens on the machine hits all.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from bench.free_memory import Ballast
from bench.measure import Figures, LoadError, Sample, figures, sample
from bench.rows import CEILING, JVMS, PARTITIONS, RECORDS_PER_MB, Row
from bench.systems import System

# Two rounds in a row that differ by less show that the JVM has compiled what it will.
WARM_WITHIN = 0.05
_DELETED_S = 0.5
_WORTH_HOLDING_BYTES = 256 << 20


@dataclass(frozen=True)
class Plan:
    rounds: int
    seconds: float
    warm_rounds_max: int
    client_cpus: frozenset[int]
    say: Callable[[str], None]
    ballast: Ballast


@dataclass(frozen=True, kw_only=True)
class Measured:
    row: Row
    storage: str
    system: str
    samples: tuple[Sample, ...]
    warm_rounds: int
    figures: Figures


@contextmanager
def topic(system: System, partitions: int) -> Iterator[str]:
    """A topic for one purpose, gone afterwards. The bare stands take any name."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    if system.name == CEILING:
        yield name
        return
    admin = AdminClient({"bootstrap.servers": system.bootstrap, "log_level": 0})
    if not system.logs:
        # The mock cluster knows no CreateTopics: it makes what it is asked about, with four
        # partitions, and keeps little of it.
        admin.list_topics(name, timeout=10)
        yield name
        return
    replicas = system.replication_factor
    config = {"min.insync.replicas": "2"} if replicas > 2 else {}
    admin.create_topics([NewTopic(name, partitions, replicas, config=config)])[name].result(30)
    if replicas > 1:
        _wait_until_in_sync(admin, name, replicas)
    _wait_until_led(admin, name, partitions)
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(30)


def _wait_until_in_sync(admin: AdminClient, name: str, replicas: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        partitions = admin.list_topics(name, timeout=10).topics[name].partitions.values()
        if partitions and all(len(one.isrs) == replicas and one.leader >= 0 for one in partitions):
            return
        time.sleep(0.02)
    raise LoadError(f"the replicas of {name} never were in sync")


def _wait_until_led(admin: AdminClient, name: str, partitions: int) -> None:
    """A broker may know a topic a moment before it leads it, and the raw load asks only once."""
    end = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    ends = {TopicPartition(name, number): end for number in range(partitions)}
    deadline = time.monotonic() + 30
    while True:
        try:
            for answer in admin.list_offsets(ends).values():
                answer.result(10)
        except KafkaException as error:
            if time.monotonic() > deadline:
                raise LoadError(f"nobody leads {name}: {error}") from None
            time.sleep(0.02)
        else:
            return


def stored_bytes(system: System, name: str) -> int:
    """Of all replicas together."""
    return sum(
        segment.stat().st_size for logs in system.logs for segment in logs.glob(f"{name}-*/*.log")
    )


def fill(system: System, name: str, row: Row, plan: Plan) -> None:
    load = {
        "load": "raw produce",
        "topic": name,
        "partitions": PARTITIONS,
        "records_per_batch": RECORDS_PER_MB,
        "codec": row.filled_codec,
        "messages": row.filled,
    }
    sample(system, load, plan.client_cpus)


def _load(row: Row, name: str, plan: Plan) -> dict[str, object]:
    return {
        "load": row.load,
        "topic": name,
        "partitions": row.partitions,
        "seconds": plan.seconds,
        **row.options,
    }


def run_once(system: System, row: Row, plan: Plan, filled: str | None) -> Sample:
    if filled is not None:
        return sample(system, _load(row, filled, plan), plan.client_cpus)
    ballast = plan.ballast if row.judged == "throughput" else None
    if ballast is not None:
        ballast.hold()
    with topic(system, row.partitions) as name:
        taken = sample(system, _load(row, name, plan), plan.client_cpus, ballast)
        taken = replace(taken, stored_bytes=stored_bytes(system, name))
    if taken.stored_bytes > _WORTH_HOLDING_BYTES:
        # Before the hypervisor sees the pages of the deleted files. Kafka deletes a moment later.
        time.sleep(_DELETED_S)
        plan.ballast.hold()
    return taken


def warm(system: System, row: Row, plan: Plan, filled: str | None) -> int:
    """Rounds that do not count; only the JVM needs more than one."""
    last = run_once(system, row, plan, filled).messages_per_s
    if system.name not in JVMS:
        return 1
    for done in range(2, plan.warm_rounds_max + 1):
        now = run_once(system, row, plan, filled).messages_per_s
        if abs(now - last) <= WARM_WITHIN * last:
            return done
        last = now
    plan.say(f"{system.name} was still changing after {plan.warm_rounds_max} rounds")
    return plan.warm_rounds_max


def run_row(row: Row, systems: Sequence[System], storage: str, plan: Plan) -> list[Measured]:
    plan.say(f"{storage}: {row.name} ({row.client})")
    with _filled(row, systems, plan) as topics:
        warmed = {one.name: warm(one, row, plan, topics.get(one.name)) for one in systems}
        samples: dict[str, list[Sample]] = {one.name: [] for one in systems}
        for _ in range(plan.rounds):
            for system in systems:
                if storage == "disk":
                    # What one system left dirty must not be written back on another's time.
                    os.sync()
                samples[system.name].append(run_once(system, row, plan, topics.get(system.name)))
    return [
        Measured(
            row=row,
            storage=storage,
            system=name,
            samples=tuple(taken),
            warm_rounds=warmed[name],
            figures=figures(taken),
        )
        for name, taken in samples.items()
    ]


@contextmanager
def _filled(row: Row, systems: Sequence[System], plan: Plan) -> Iterator[Mapping[str, str]]:
    """The topic to read, by system, for rows that read."""
    if row.filled == 0:
        yield {}
        return
    with ExitStack() as kept:
        names: dict[str, str] = {}
        for system in systems:
            name = kept.enter_context(topic(system, PARTITIONS))
            if system.name != CEILING:
                fill(system, name, row, plan)
            names[system.name] = name
        yield names


def drop_from_page_cache(directories: Sequence[Path], name: str) -> None:
    """Makes the files of one topic cold. Only clean pages can be dropped, so they are synced."""
    for segment in (one for logs in directories for one in logs.glob(f"{name}-*/*.log")):
        with segment.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
