"""A member of a group is killed: how long until its partitions are served, and who else pauses.

Three members read six partitions, to each of which a record is written every 10 ms. One member is
killed. By strategy:

* eager, cooperative, consumer (KIP-848): the coordinator removes the member when its session is
  over, and the two others take its partitions;
* static: the member is started again at once under the same `group.instance.id`, within its
  session, so no rebalance takes place.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.measure import LoadError
from bench.systems import ROOT, System
from bench.systems.server_process import pinned

SESSION_S = 6.0
HEARTBEAT_S = 0.5
PARTITIONS = 6
MEMBERS = 3
WRITE_EVERY_S = 0.01
PATIENCE_S = 60.0
STEADY_S = 2.0

# The same for both systems. The first rebalance waits for nobody, and KIP-848, whose time-outs
# the server decides, has those of the classic protocol.
SETTINGS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.session.timeout.ms": str(int(SESSION_S * 1000)),
    "group.consumer.session.timeout.ms": str(int(SESSION_S * 1000)),
    "group.consumer.min.heartbeat.interval.ms": str(int(HEARTBEAT_S * 1000)),
    "group.consumer.heartbeat.interval.ms": str(int(HEARTBEAT_S * 1000)),
}
_CLASSIC: Mapping[str, Any] = {
    "session.timeout.ms": int(SESSION_S * 1000),
    "heartbeat.interval.ms": int(HEARTBEAT_S * 1000),
}
STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "eager": {**_CLASSIC, "partition.assignment.strategy": "range"},
    "cooperative": {**_CLASSIC, "partition.assignment.strategy": "cooperative-sticky"},
    "static": {**_CLASSIC, "partition.assignment.strategy": "range"},
    "consumer": {"group.protocol": "consumer"},
}


@dataclass(frozen=True)
class Failover:
    """What one kill cost, in seconds."""

    # From the kill until a record of the last of the victim's partitions was read again.
    served_again_s: float
    # The longest time without a record on a partition that the victim did not have.
    others_paused_s: float


class MemberProcess:
    def __init__(self, options: Mapping[str, object], cpus: frozenset[int]) -> None:
        command = [sys.executable, "-m", "bench.loads.group_consumer", json.dumps(options)]
        self._process = subprocess.Popen(
            pinned(command, cpus),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.owned: frozenset[int] = frozenset()
        self.first_at: dict[int, float] = {}
        """Moment of the first record since a partition was assigned."""
        self.received: dict[int, list[float]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            if event["event"] == "assigned":
                self.owned = frozenset(event["partitions"])
            elif event["event"] == "first":
                self.first_at[event["partition"]] = event["at"]
            else:
                self.received = {int(key): event["moments"][key] for key in event["moments"]}

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Ends the member and takes over what it received."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.join()


class Trickle:
    """Writes one record to every partition every 10 ms, from a thread."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": 1, "log_level": 0}
        )
        self._topic = topic
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        while not self._ended.wait(WRITE_EVERY_S):
            for partition in range(PARTITIONS):
                self._producer.produce(self._topic, b"record", partition=partition)
            self._producer.poll(0)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self._producer.flush(PATIENCE_S)


def measure(system: System, strategy: str, cpus: frozenset[int]) -> Failover:
    """Kills one member of a new group on a new topic."""
    with _topic(system.bootstrap) as topic, ExitStack() as ended:
        group = f"group-{uuid.uuid4().hex[:8]}"

        def start(number: int) -> MemberProcess:
            options = {"topic": topic, "settings": _settings(system, strategy, group, number)}
            member = MemberProcess(options, cpus)
            ended.callback(member.kill)
            return member

        trickle = Trickle(system.bootstrap, topic)
        ended.callback(trickle.end)
        members = [start(number) for number in range(MEMBERS)]
        share = PARTITIONS // MEMBERS
        _wait(lambda: all(len(one.owned) == share for one in members), "all members have a share")
        _wait(lambda: all(one.owned <= one.first_at.keys() for one in members), "all are served")
        time.sleep(STEADY_S)
        victim, survivors = members[0], members[1:]
        orphans = victim.owned
        killed = time.monotonic()
        victim.kill()
        takers = [*survivors, start(0)] if strategy == "static" else survivors

        def served_at(partition: int) -> float | None:
            moments = [one.first_at.get(partition, 0.0) for one in takers]
            return max(moments) if max(moments) > killed else None

        _wait(lambda: all(served_at(one) is not None for one in orphans), "orphans are served")
        served = max(served_at(one) or 0.0 for one in orphans)
        # A second round of a cooperative rebalance may still pause somebody.
        time.sleep(STEADY_S)
        over = time.monotonic()
        for one in takers:
            one.end()
        return Failover(served - killed, _longest_pause(takers, orphans, killed, over))


def _longest_pause(
    members: list[MemberProcess], orphans: frozenset[int], killed: float, over: float
) -> float:
    longest = 0.0
    for partition in set(range(PARTITIONS)) - orphans:
        moments = sorted(
            moment
            for member in members
            for moment in member.received.get(partition, ())
            if killed <= moment <= over
        )
        times = pairwise([killed, *moments, over])
        longest = max(longest, *(later - earlier for earlier, later in times))
    return longest


def _settings(system: System, strategy: str, group: str, number: int) -> dict[str, Any]:
    settings = {
        "bootstrap.servers": system.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 200,
        "log_level": 0,
        **STRATEGIES[strategy],
    }
    if strategy == "static":
        settings["group.instance.id"] = f"member-{number}"
    return settings


@contextmanager
def _topic(bootstrap: str) -> Iterator[str]:
    name = f"failover-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
    try:
        yield name
    finally:
        admin.delete_topics([name])[name].result(30)


def _wait(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            raise LoadError(f"waited {PATIENCE_S:.0f} s in vain until {what}")
        time.sleep(0.005)
