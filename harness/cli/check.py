"""harness check: judge a history that somebody recorded, by any model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from checkers.contract import Contract, TimestampType
from checkers.models import LEAN, MODELS, Question, judge
from checkers.unfinished import SAID, TORN, of_torn
from harness.cli.check_options import refuse_meaningless
from harness.cli.parameters import INT64_MAX

if TYPE_CHECKING:
    from checkers.segments.replicas import Replica
    from checkers.verdict import Verdict

_CODES = {True: 0, False: 1, "unknown": 2}
_STALE_MS_MAX = 1e12
"""A history is shorter than thirty years, and what is longer has no number of nanoseconds."""


def _bound(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Not by click's range: nan is in every one of those."""
    if value is not None and not 0 <= value <= _STALE_MS_MAX:
        raise click.BadParameter(f"{value} is not in the range 0 to {_STALE_MS_MAX:.0f}")
    return value


def _directory(_: click.Context, __: click.Parameter, value: str | None) -> Path | None:
    """Not by click's path: of an empty name that makes the directory where we are."""
    if value == "":
        raise click.BadParameter("the name is empty; give a directory")
    return None if value is None else Path(value)


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--model", type=click.Choice(MODELS), required=True, help="Model that judges the history."
)
@click.option(
    "--consistency-model",
    "consistency_models",
    multiple=True,
    help="Promised consistency model of transactions (default: strict-serializable); repeatable.",
)
@click.option(
    "--ww-deps", is_flag=True, help="Let the order of a log order its writers: write-write edges."
)
@click.option(
    "--exact-polls",
    is_flag=True,
    help="A poll returns everything present: what it misses comes later.",
)
@click.option(
    "--exact-ends", is_flag=True, help="End offsets are exact: no replaced leader answers."
)
@click.option(
    "--dense-offsets",
    is_flag=True,
    help="Every offset of a log belongs to a send: there are no gaps.",
)
@click.option("--initial", help="Initial value, as JSON.")
@click.option(
    "--failed-cas",
    type=click.Choice(("asserts", "ignored")),
    default="ignored",
    help="Whether a failed compare-and-set proves that the value was another one.",
)
@click.option(
    "--null-read",
    type=click.Choice(("asserts", "ignored")),
    default="ignored",
    help="Whether a read of null proves that no value was present.",
)
@click.option(
    "--contract",
    type=click.Choice(("safe", "configured")),
    default="safe",
    help="Judge by what a safe configuration promises, or by the given one.",
)
@click.option(
    "--acks",
    type=click.Choice(("0", "1", "all")),
    default="all",
    help="acks of the producers.",
)
@click.option(
    "--isolation-level",
    type=click.Choice(("read_uncommitted", "read_committed")),
    default="read_committed",
    help="isolation.level of the consumers.",
)
@click.option("--subscribe", is_flag=True, help="Consumers got their partitions from a group.")
@click.option("--idempotence/--no-idempotence", default=True, help="enable.idempotence.")
@click.option("--retries", type=click.IntRange(min=0), help="retries of the producers.")
@click.option(
    "--unclean-leader-election", is_flag=True, help="unclean.leader.election.enable was true."
)
@click.option(
    "--replication-factor", type=click.IntRange(min=1), default=3, help="Replicas of each log."
)
@click.option(
    "--min-insync-replicas",
    type=click.IntRange(min=1),
    help="min.insync.replicas (default: 2, or 1 with one replica).",
)
@click.option("--transactions", is_flag=True, help="Records were sent in transactions.")
@click.option(
    "--flush",
    type=click.Choice(("os", "every-record")),
    default="os",
    help="When brokers flush records to the device.",
)
@click.option("--faults", default="", metavar="A,B", help="Nemeses that were used.")
@click.option(
    "--unsafe-faults",
    is_flag=True,
    help="Faults may have destroyed more replicas than the log tolerates.",
)
@click.option(
    "--stale-bound",
    type=float,
    callback=_bound,
    metavar="MS",
    help="Report polls that miss records known for longer than this.",
)
@click.option(
    "--timestamp-type",
    type=click.Choice(get_args(TimestampType)),
    help="message.timestamp.type of the topics; without it timestamps are not judged.",
)
@click.option("--one-clock", is_flag=True, help="All brokers read the wall clock of one machine.")
@click.option(
    "--segments",
    callback=_directory,
    metavar="DIR",
    help="Segments of the brokers as ground truth: a run, or NODE/TOPIC-PARTITION/*.log.",
)
@click.option(
    "--budget",
    type=click.IntRange(1, INT64_MAX),
    default=20_000_000,
    help="Maximum number of configurations that a search visits.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def check(context: click.Context, /, file: Path, model: str, as_json: bool, **options: Any) -> int:
    """Judge the history FILE: a run, its Arrow or Parquet, JSON Lines, or Jepsen's EDN.

    Exit code: 0 valid, 1 invalid, 2 unknown, 254 for a file or option that cannot be used.
    """
    from harness.history.errors import HistoryError
    from harness.history.json_text import readable

    _refuse_strangers(options["consistency_models"])
    question = _question(options)
    refuse_meaningless(context, model, question)
    try:
        result = _judged(file, model, question, options["segments"])
    except HistoryError as error:
        # Of a value that is met late, nobody knows where it stands.
        where = "" if error.where.startswith(str(file)) else f"{file}: "
        raise click.UsageError(readable(f"{where}{error}")) from error
    told = result.as_json()
    if TORN in result.stats:
        click.echo(SAID, err=True)
    if as_json:
        click.echo(json.dumps(told, sort_keys=True))
    else:
        _tell(result, told)
    return _CODES[told["valid"]]


def _judged(file: Path, model: str, question: Question, segments: Path | None) -> Verdict:
    from checkers.sound import sound_history

    history = sound_history(file, model, lean=model in LEAN)
    if segments is not None:
        question = replace(question, replicas=_replicas(segments, history.keys))
    result = judge(history, model, question)
    return of_torn(result) if history.is_torn else result


def _replicas(directory: Path, keys: Sequence[Any]) -> tuple[Replica, ...]:
    from checkers.segments.replicas import SegmentsError, replicas_in

    try:
        replicas = replicas_in(directory)
    except (SegmentsError, OSError) as error:
        raise click.UsageError(str(error)) from error
    known = {replica.log for replica in replicas}
    if not known & {str(key) for key in keys}:
        raise click.UsageError(
            f"{directory}: the segments belong to {', '.join(sorted(known)[:8])}, and the history "
            "names none of these logs"
        )
    return tuple(replicas)


def _refuse_strangers(models: tuple[str, ...]) -> None:
    if models:
        from checkers.transactions.lattice import known_models

        strange = sorted(set(models) - known_models())
        if strange:
            known = ", ".join(sorted(known_models()))
            raise click.UsageError(
                f"unknown consistency model {', '.join(strange)}; choose one of {known}"
            )


def _faults(text: str) -> frozenset[str]:
    from nemesis import NEMESES

    names = frozenset(name.strip() for name in text.split(",")) if text else frozenset()
    strange = sorted(names - set(NEMESES))
    if strange:
        raise click.UsageError(
            f"unknown nemesis {', '.join(strange)}; choose one of {', '.join(NEMESES)}"
        )
    return names


def _question(options: dict[str, Any]) -> Question:
    initial = None
    if options["initial"] is not None:
        try:
            initial = json.loads(options["initial"])
        except ValueError:
            initial = options["initial"]
    contract = Contract(
        acks=options["acks"],
        idempotence=options["idempotence"],
        retries=options["retries"],
        isolation_level=options["isolation_level"],
        subscribe=options["subscribe"],
        unclean_leader_election=options["unclean_leader_election"],
        replication_factor=options["replication_factor"],
        min_insync_replicas=options["min_insync_replicas"] or min(2, options["replication_factor"]),
        transactions=options["transactions"],
        flush=options["flush"],
        faults=_faults(options["faults"]),
        unsafe_faults=options["unsafe_faults"],
        ww_deps=options["ww_deps"],
        exact_polls=options["exact_polls"],
        exact_ends=options["exact_ends"],
        dense_offsets=options["dense_offsets"],
        stale_bound_ms=options["stale_bound"],
        timestamp_type=options["timestamp_type"],
        one_clock=options["one_clock"],
        judged_by=options["contract"],
    )
    return Question(
        contract=contract,
        consistency_models=options["consistency_models"],
        initial=initial,
        has_initial=options["initial"] is not None,
        failed_cas=options["failed_cas"],
        null_read=options["null_read"],
        budget=options["budget"],
    )


def _tell(result: Verdict, told: dict[str, Any]) -> None:
    from harness.history.json_text import readable

    for type_, anomalies in told["anomalies"].items():
        allowed = " (allowed)" if type_ in told["allowed"] else ""
        click.echo(f"{type_}{allowed}")
        for anomaly in anomalies:
            click.echo(readable(f"  {anomaly['because']}"))
        if anomalies[0]["contract"]:
            click.echo(f"  {anomalies[0]['contract']}")
    for log, why in told["stats"].get("segments", {}).get("unsettled", {}).items():
        click.echo(readable(f"the segments of {log} do not show what was lost: {why}"))
    if told["not"]:
        click.echo(f"not {', '.join(told['not'])}")
    verdict = {True: "valid", False: "invalid"}.get(told["valid"], "unknown")
    click.echo(readable(f"{verdict}{': ' + result.why if result.why else ''}"))
