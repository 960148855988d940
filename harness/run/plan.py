"""Plan: everything that was asked for in a run, as one value; plan.json is its file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from harness.client.base import Acks, IsolationLevel
from harness.registry import REGISTRY
from harness.run.property_values import is_true, whole_number
from harness.store.inside import DamagedError, MissingError, read_inside

UNSAFE_BROKER = {"unclean.leader.election.enable": "true"}
"""What `--unsafe` asks of the brokers, beside acks=1 and no idempotence of the clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Field by field what `harness test` takes; times in seconds, as on the command line."""

    workload: str = "queue"
    nemesis: str = "none"
    nemesis_interval_s: float = 10.0
    time_limit_s: float = 60.0
    rate: float = 500.0
    """Operations a second, of all clients together; 0 for as many as they can."""
    concurrency: int = 10
    nodes: int = 5
    seed: int = 0
    on: str = "netns"
    system: str = "reference"
    client: str = "confluent"
    protocol_versions: str = "newest"
    """newest, random, or API=VERSION pairs: what the native client speaks."""
    acks: Acks = "all"
    enable_idempotence: bool = True
    retries: int | None = None
    isolation_level: IsolationLevel = "read_committed"
    key_dist: str = "uniform"
    transactions: bool = True
    """False: workloads of transactions do the same without any."""
    burst: int | None = None
    """Most records of one send; None for what suits the place."""
    replication_factor: int = 3
    topic_config: Mapping[str, str] = field(default_factory=dict)
    broker_config: Mapping[str, str] = field(default_factory=dict)
    producer_config: Mapping[str, str] = field(default_factory=dict)
    consumer_config: Mapping[str, str] = field(default_factory=dict)
    contract: str = "safe"
    unsafe_faults: bool = False
    stop_on_anomaly: bool = False
    invariants: str = "all"
    """What `--on sim` asks of the nodes themselves: all, cheap or off."""
    inventory: str | None = None
    """Of the hosts of `--on ssh`."""
    schedule: str | None = None
    """A stored schedule whose faults are played instead of drawn ones."""
    bootstrap_servers: str | None = None
    """Of the cluster of `--on running`."""
    history_topic: str | None = None
    """TOPIC@BOOTSTRAP: where the history is published while the run goes on."""
    plugin: tuple[str, ...] = ()
    """Files or modules that add systems, clients, workloads, nemeses and checkers, as typed."""

    @property
    def name(self) -> str:
        """Of its directory in the store."""
        return f"{self.workload} {self.nemesis.replace(',', '+').replace(':', '-')}"

    @property
    def length_ms(self) -> float:
        return self.time_limit_s * 1000

    @property
    def min_insync_replicas(self) -> int:
        """Of the workload's topics: two, unless there are fewer replicas or the plan says so."""
        said = self.topic_config.get("min.insync.replicas")
        return whole_number(said) if said is not None else min(2, self.replication_factor)

    @property
    def burst_max(self) -> int:
        if self.burst is not None:
            return self.burst
        return _BURST_SIMULATED if self.on == "sim" else _BURST

    @property
    def batch_bytes_max(self) -> int | None:
        """Largest batch that the workload's topics take, where a setting says so."""
        said = self.topic_config.get("max.message.bytes") or self.broker_config.get(
            "message.max.bytes"
        )
        try:
            return None if said is None else max(1, whole_number(said))
        except ValueError:  # which the brokers will refuse
            return None

    @property
    def transaction_timeout_ms(self) -> int | None:
        """transaction.timeout.ms of all producers, where a setting says so."""
        said = self.producer_config.get("transaction.timeout.ms")
        return None if said is None else max(1, whole_number(said))

    @property
    def is_unclean(self) -> bool:
        """Whether a replica may lead that lacks what was acknowledged."""
        for configs in (self.topic_config, self.broker_config):
            said = configs.get("unclean.leader.election.enable")
            if said is not None:
                return is_true(said)
        return False

    @property
    def faults(self) -> frozenset[str]:
        """The nemeses by name, without their variants and targets."""
        from nemesis import ALL, NEMESES

        if self.nemesis == ALL:
            return frozenset(NEMESES)
        return frozenset(re.split("[:@]", each.strip())[0] for each in self.nemesis.split(","))

    def with_seed(self, seed: int) -> Plan:
        return replace(self, seed=seed)

    def command(self) -> str:
        """What to type to have it again: everything that differs from the default."""
        words = ["harness", "test", "-w", self.workload, "--nemesis", self.nemesis]
        words += ["--time-limit", f"{self.time_limit_s:g}", "--seed", str(self.seed)]
        if self.concurrency != 2 * self.nodes:
            words += ["--concurrency", str(self.concurrency)]
        for each in fields(self):
            if each.name in ("workload", "nemesis", "time_limit_s", "seed", "concurrency"):
                continue
            value = getattr(self, each.name)
            if value != _default(each.name):
                words += _option(each.name, value)
        return shlex.join(words)

    def text(self) -> str:
        import msgspec

        return msgspec.json.format(msgspec.json.encode(self)).decode() + "\n"

    @classmethod
    def load(cls, path: Path) -> Plan:
        try:
            text = read_inside(path.parent, path.name)
        except MissingError as missing:
            raise MissingError(f"{missing}; give the directory of a run") from None
        return cls.of_json(text, path)

    @classmethod
    def of_json(cls, text: str | bytes, path: Path) -> Plan:
        """From the content of a plan.json; `path` is for the message of DamagedError."""
        import msgspec

        from harness.plugins import require

        try:
            plan = msgspec.json.decode(text, type=cls)
            require(plan.plugin)
            plan._check()
            _refuse_gaps(msgspec.json.decode(text, type=dict[str, msgspec.Raw]))
        # A RecursionError, too: lists may be nested without end.
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise DamagedError(path, f"not a plan: {error}") from None
        return plan

    def _check(self) -> None:
        """ValueError for what the command line would have refused, and a verdict depends on."""
        for what, name, known in (
            ("workload", self.workload, REGISTRY.workloads),
            ("system", self.system, REGISTRY.systems),
        ):
            if name not in known:
                raise ValueError(f"unknown {what} {name!r}")
        for name, number in {
            "nodes": self.nodes,
            "concurrency": self.concurrency,
            "burst": self.burst_max,
            "time_limit_s": self.time_limit_s,
            "nemesis_interval_s": self.nemesis_interval_s,
            "min.insync.replicas": self.min_insync_replicas,
        }.items():
            if not 0 < number <= _NUMBER_MAX:
                raise ValueError(f"{name} is {number}")


_ADDED_LATER = frozenset(
    {
        *("stop_on_anomaly", "invariants", "burst", "plugin", "bootstrap_servers"),
        *("protocol_versions", "transactions", "history_topic"),
    }
)
"""Fields that plans of older versions lack. A new field of Plan belongs here as well."""
_NUMBER_MAX = 1e7
_BURST = 256
_BURST_SIMULATED = 32
"""Fewer: the simulator's time goes into records, and virtual time needs no load to be full."""
_DEFAULTS = Plan()


def _refuse_gaps(said: Mapping[str, Any]) -> None:
    """ValueError if a field is missing that every version has written: its default may be safer
    than what was asked for, and the run would be judged by it."""
    missing = [
        each.name
        for each in fields(Plan)
        if each.name not in said and each.name not in _ADDED_LATER
    ]
    if missing:
        raise ValueError(f"missing fields: {', '.join(missing)}")


def _default(name: str) -> Any:
    return getattr(_DEFAULTS, name)


def _option(name: str, value: Any) -> list[str]:
    flag = "--" + name.removesuffix("_s").replace("_", "-")
    if isinstance(value, Mapping):
        return [word for key, each in value.items() for word in (flag, f"{key}={each}")]
    if isinstance(value, tuple):
        return [word for each in value for word in (flag, each)]
    if value is True:
        return [flag]
    if value is False:
        if "--enable-" in flag:
            return [flag.replace("--enable-", "--disable-")]
        return [flag.replace("--", "--no-", 1)]
    return [flag, f"{value:g}" if isinstance(value, float) else str(value)]
