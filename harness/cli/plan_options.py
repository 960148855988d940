"""The options of a run, as users of Kafka and Jepsen know them, and the plan they make."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.parameters import DAYS_30_S, INT32_MAX, INT64_MAX, RATE_MAX, Finite
from harness.cli.property_options import refuse_properties
from harness.cli.running_options import decide_running, refuse_hosts
from harness.cli.version_options import refuse_versions
from harness.run.plan import UNSAFE_BROKER, Plan
from harness.run.property_values import is_true

PLACES = ("netns", "local", "sim", "ssh", "vagrant", "running")
INVARIANTS = ("all", "cheap", "off")
_SEED_BITS = 32
_CLIENTS_MAX = 10_000
_REPLICAS = 3
_BURST_MAX = 10_000
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_UNCLEAN = "unclean.leader.election.enable"

_Command = TypeVar("_Command", bound=Callable[..., Any])


class NeverStrikesError(click.UsageError):
    """A nemesis that this workload, cluster or time limit leaves nothing to strike."""


class Concurrency(click.ParamType[str]):
    """10, or 2n for twice as many as nodes."""

    name = "number or 2n"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"[1-9]\d*n?", value):
            self.fail(
                f"{value!r} is not a number of clients; try 10, or 2n for two per node", param, ctx
            )
        return value


class KeyDistribution(click.ParamType[str]):
    """uniform, zipf, or hot:90 for so many percent on one key."""

    name = "uniform|zipf|hot:PERCENT"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"uniform|zipf|hot:(100|[1-9]\d?)", value):
            self.fail(
                f"unknown distribution {value!r}; choose one of uniform, zipf, hot:90", param, ctx
            )
        return value


class HistoryTopicAddress(click.ParamType[str]):
    """history@kafka-1:9092,kafka-2:9092: a topic, and where its cluster is found."""

    name = "topic@host:port"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}@[^\s,@]+:\d+(,[^\s,@]+:\d+)*", value):
            self.fail(
                f"{value!r} is no topic with an address; try history@127.0.0.1:9092", param, ctx
            )
        return value


class Property(click.ParamType[tuple[str, str]]):
    name = "key=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        key, equals, rest = value.partition("=")
        # Other characters end a name in a file of properties, or begin another line.
        if not equals or not _NAME.fullmatch(key.strip()) or not rest.isprintable():
            self.fail(
                f"{value!r} is not of the form key=value; try min.insync.replicas=2", param, ctx
            )
        return key.strip(), rest.strip()


def _properties(flag: str, of: str) -> Callable[[_Command], _Command]:
    return click.option(
        flag,
        multiple=True,
        type=Property(),
        metavar="KEY=VALUE",
        help=f"Property of {of}; repeatable.",
    )


PLUGIN = click.option(
    "--plugin", multiple=True, metavar="FILE|MODULE",
    help="Adds systems, clients, workloads, nemeses, checkers (docs/extending.md); repeatable.",
)  # fmt: skip

_OPTIONS = (
    click.option("--workload", "-w", default="queue", show_default=True, metavar="NAME",
                 help="What clients do; see harness workloads."),
    click.option("--nemesis", default="none", show_default=True, metavar="A,B|all|none",
                 help="Faults to inject; see harness nemeses."),
    click.option("--nemesis-interval", "nemesis_interval_s", type=Finite(0.1, DAYS_30_S),
                 default=10.0, show_default=True, help="Seconds between faults, on average."),
    click.option("--time-limit", "time_limit_s", type=Finite(1, DAYS_30_S), default=60.0,
                 show_default=True, help="Seconds of load, without set-up and reading back."),
    click.option("--rate", type=Finite(0, RATE_MAX), default=500.0, show_default=True,
                 help="Operations per second of all clients together; 0 for no limit."),
    click.option("--concurrency", type=Concurrency(), default="2n", show_default=True,
                 help="Number of clients; 2n is two for each node."),
    click.option("--nodes", type=click.IntRange(1, 99), default=5, show_default=True,
                 help="Number of brokers."),
    click.option("--seed", type=click.IntRange(0, INT64_MAX),
                 help="Seed of all choices; the default is random."),
    click.option("--on", type=click.Choice(PLACES), default="netns", show_default=True,
                 help="Place that the hosts come from."),
    click.option("--inventory", type=click.Path(exists=True, dir_okay=False),
                 help="TOML file with the hosts of --on ssh."),
    click.option("--bootstrap-servers", metavar="HOST:PORT,...",
                 help="Bootstrap addresses of --on running."),
    PLUGIN,
    click.option("--system", default="reference", show_default=True, metavar="NAME",
                 help="System under test; harness systems ls lists them."),
    click.option("--client", metavar="NAME", show_default="confluent, or the system's own",
                 help="Client: confluent, aiokafka, native (our own), or one of a plugin."),
    click.option("--protocol-versions", default="newest", show_default=True,
                 metavar="newest|random|API=N,...",
                 help="Versions that --client native and --on sim speak; random draws one for each "
                 "client and API."),
    click.option("--acks", type=click.Choice(("0", "1", "all", "-1")), show_default="all",
                 help="acks of the producers."),
    click.option("--enable-idempotence/--disable-idempotence", "enable_idempotence", default=None,
                 help="enable.idempotence of the producers; on by default with acks=all."),
    click.option("--retries", type=click.IntRange(0, INT32_MAX),
                 help="retries of the producers; the default is that of the client."),
    click.option("--isolation-level", type=click.Choice(("read_committed", "read_uncommitted")),
                 default="read_committed", show_default=True,
                 help="isolation.level of the consumers."),
    click.option("--key-dist", type=KeyDistribution(), default="uniform", show_default=True,
                 help="Distribution of operations over keys."),
    click.option("--transactions/--no-transactions", default=True, show_default=True,
                 help="Whether workloads of transactions (txn, bank, shop) make any."),
    click.option("--burst", type=click.IntRange(1, _BURST_MAX), show_default="256; 32 on sim",
                 help="Most records of one send, sent without waiting for each; for -w queue."),
    click.option("--replication-factor", type=click.IntRange(1),
                 show_default="3, or the number of nodes if smaller",
                 help="Replicas of each partition."),
    _properties("--topic-config", "every topic"),
    _properties("--broker-config", "every broker"),
    _properties("--producer-config", "every producer, with its library's names"),
    _properties("--consumer-config", "every consumer, with its library's names"),
    click.option("--safe", "is_safe", is_flag=True,
                 help="Set acks=all, idempotence and clean elections; the default."),
    click.option("--unsafe", "is_unsafe", is_flag=True,
                 help="Set acks=1, no idempotence and unclean elections."),
    click.option("--contract", type=click.Choice(("safe", "configured")), default="safe",
                 show_default=True, help="Judge by what a safe configuration promises, or by the "
                 "run's own configuration."),
    click.option("--schedule", type=click.Path(exists=True, dir_okay=False),
                 help="Inject the faults of this file instead of drawn ones."),
    click.option("--stop-on-anomaly", is_flag=True,
                 help="End the load at the first anomaly."),
    click.option("--invariants", type=click.Choice(INVARIANTS), default="all", show_default=True,
                 help="Invariants that --on sim checks after every step; off judges by the "
                 "history alone."),
    click.option("--history-topic", type=HistoryTopicAddress(), metavar="TOPIC@HOST:PORT,...",
                 help="Publish the history to this topic while the run goes on, outside "
                 "the cluster under test."),
    click.option("--unsafe-faults", is_flag=True,
                 help="Ignore the budget of faults that destroy data; loss is not judged then."),
)  # fmt: skip


def plan_options(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def plan_of(options: Mapping[str, Any]) -> Plan:
    """UsageError for what does not fit together, before anything is started."""
    import nemesis
    from harness.plugins import load_plugins
    from harness.registry import REGISTRY, unknown
    from harness.run.feasible import why_no_verdict, why_not_struck
    from harness.run.workload import why_not_judged

    chosen = dict(options)
    chosen["plugin"] = tuple(chosen["plugin"])
    load_plugins(chosen["plugin"])
    decide_running(chosen)
    chosen["concurrency"] = _clients(chosen["concurrency"], chosen["nodes"])
    for name in ("topic_config", "broker_config", "producer_config", "consumer_config"):
        chosen[name] = dict(chosen[name])
    refuse_properties(chosen)
    _decide_safety(chosen, is_safe=chosen.pop("is_safe"), is_unsafe=chosen.pop("is_unsafe"))
    _decide_idempotence(chosen)
    chosen["replication_factor"] = _replicas(chosen["replication_factor"], chosen["nodes"])
    if chosen["seed"] is None:
        chosen["seed"] = secrets.randbits(_SEED_BITS)
    if chosen["workload"] not in REGISTRY.workloads:
        raise click.UsageError(unknown("workload", chosen["workload"], REGISTRY.workloads))
    if chosen["system"] not in REGISTRY.systems:
        raise click.UsageError(unknown("system", chosen["system"], REGISTRY.systems))
    chosen["client"] = _client(chosen["client"], chosen["system"])
    refuse_versions(chosen)
    try:
        chosen["nemesis"] = ",".join(nemesis.words_of(chosen["nemesis"]))
        nemesis.parse(chosen["nemesis"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if chosen["schedule"] is not None:
        _check_schedule(chosen["schedule"])
    _check_place(chosen)
    refuse_hosts(chosen)
    if chosen["invariants"] != "all" and chosen["on"] != "sim":
        raise click.UsageError(
            f"--invariants {chosen['invariants']} is for --on sim: only a simulated node shows its "
            "state; leave it out"
        )
    plan = Plan(**chosen)
    why_not = why_not_judged(plan) or why_no_verdict(plan)
    if why_not is not None:
        raise click.UsageError(why_not)
    why_never = why_not_struck(plan)
    if why_never is not None:
        raise NeverStrikesError(why_never)
    return plan


def _client(said: str | None, system: str) -> str:
    from harness.registry import REGISTRY

    possible = REGISTRY.clients_for(system)
    if not possible:
        protocol = REGISTRY.systems[system].protocol
        raise click.UsageError(
            f"--system {system} speaks {protocol}, and no known client does; add one with --plugin"
        )
    if said is not None and said not in possible:
        raise click.UsageError(
            f"--client {said} cannot be used with --system {system}; try {' or '.join(possible)}"
        )
    return said or possible[0]


def _check_place(chosen: Mapping[str, Any]) -> None:
    on, inventory = chosen["on"], chosen["inventory"]
    if on == "sim" and chosen["system"] != "reference":
        raise click.UsageError(
            f"--system {chosen['system']} cannot be simulated: --on sim runs the reference broker; "
            "leave --system out, or try --on netns"
        )
    if on != "ssh" and inventory is not None:
        raise click.UsageError(f"--inventory is for --on ssh; --on {on} has hosts of its own")
    if on != "ssh":
        return
    if inventory is None:
        raise click.UsageError("--on ssh needs --inventory FILE, a list of hosts in TOML")
    from harness.cluster.inventory import InventoryError, load_inventory

    try:
        load_inventory(Path(inventory)).first(chosen["nodes"])
    except InventoryError as error:
        raise click.UsageError(f"--inventory: {error}") from None


def _check_schedule(path: str) -> None:
    from harness.schedule.schedule import Schedule, ScheduleError

    try:
        Schedule.load(Path(path))
    except ScheduleError as error:
        raise click.UsageError(str(error)) from None


def _clients(said: str, nodes: int) -> int:
    clients = int(said[:-1]) * nodes if said.endswith("n") else int(said)
    if clients > _CLIENTS_MAX:
        raise click.UsageError(
            f"--concurrency {said} is more than {_CLIENTS_MAX:,} clients; choose fewer"
        )
    return clients


def _replicas(said: int | None, nodes: int) -> int:
    if said is None:
        return min(_REPLICAS, nodes)
    if said > nodes:
        raise click.UsageError(
            f"--replication-factor {said} needs as many nodes, and --nodes is {nodes}"
        )
    return said


def _decide_safety(chosen: dict[str, Any], *, is_safe: bool, is_unsafe: bool) -> None:
    """What --safe and --unsafe stand for. What was asked for beside them must not contradict."""
    acks = "all" if chosen["acks"] == "-1" else chosen["acks"]
    if is_safe and is_unsafe:
        raise click.UsageError("--safe and --unsafe contradict each other; leave one of them out")
    if is_unsafe:
        if acks not in (None, "1"):
            raise click.UsageError(
                f"--unsafe means --acks 1, and --acks {acks} contradicts it; leave one of them out"
            )
        acks = "1"
        chosen["broker_config"] = UNSAFE_BROKER | chosen["broker_config"]
    chosen["acks"] = acks or "all"
    if is_safe:
        unclean = (chosen[of].get(_UNCLEAN, "") for of in ("topic_config", "broker_config"))
        for said, contradicts in {
            f"--acks {acks}": chosen["acks"] != "all",
            "--disable-idempotence": chosen["enable_idempotence"] is False,
            f"{_UNCLEAN}=true": any(map(is_true, unclean)),
        }.items():
            if contradicts:
                raise click.UsageError(f"--safe is contradicted by {said}; leave one of them out")


def _decide_idempotence(chosen: dict[str, Any]) -> None:
    if chosen["enable_idempotence"] is None:
        chosen["enable_idempotence"] = chosen["acks"] == "all"
    elif chosen["enable_idempotence"] and chosen["acks"] != "all":
        raise click.UsageError("--enable-idempotence needs --acks all, as in Kafka")
    if chosen["enable_idempotence"] and chosen["retries"] == 0:
        raise click.UsageError(
            "--enable-idempotence needs retries, as in Kafka; leave --retries out"
        )
