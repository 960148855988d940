"""The tables of the lake, column by column; docs/reference/lake.md is written from here.

Every table begins with the column `run`, and on disk it is partitioned by `date`, the day on which
the run began (UTC), and `batch`, the ingest that wrote the rows. Both are in the names of the
directories and not in the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

VERSION: Final = 1
"""Version of all tables together. A change after which older lakes cannot be read as they are
raises it, and adds a migration in lake.py. A new column that may be null needs neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: pa.DataType
    about: str
    nullable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    name: str
    about: str
    columns: tuple[Column, ...]
    order: tuple[str, ...]
    """The columns that rows are sorted by within a file, after `run`."""

    @property
    def schema(self) -> pa.Schema:
        """With `run` first, without the columns of the directories."""
        return pa.schema(
            [pa.field(each.name, each.type, each.nullable) for each in (RUN, *self.columns)]
        )


def _text(name: str, about: str, *, nullable: bool = True) -> Column:
    return Column(name=name, type=pa.string(), about=about, nullable=nullable)


def _int(name: str, about: str, *, bits: int = 64, nullable: bool = True) -> Column:
    kind = {8: pa.int8(), 32: pa.int32(), 64: pa.int64()}[bits]
    return Column(name=name, type=kind, about=about, nullable=nullable)


def _float(name: str, about: str) -> Column:
    return Column(name=name, type=pa.float64(), about=about)


RUN: Final = _text(
    "run",
    "identity of the run, the same wherever the run is stored",
    nullable=False,
)

RUNS: Final = Table(
    name="runs",
    about="One row for each run, with what was asked for and what was found.",
    order=(),
    columns=(
        _text("name", "workload and nemeses, as the store names the directory", nullable=False),
        Column(
            name="began", type=pa.timestamp("us", "UTC"), about="when the run began", nullable=False
        ),
        _text("source", "the directory or file that the run was read from", nullable=False),
        _text("model", "the model of `harness check` for a history without a plan; null for runs"),
        _text("verdict", "valid, invalid or unknown; null for a run that was not judged yet"),
        _text("workload", "as in `harness test --workload`"),
        _text("nemesis", "as in `harness test --nemesis`"),
        _text("place", "netns, local, sim, ssh or vagrant"),
        _text("system", "the kind of broker"),
        _text("release", "version of the system, or commit of the reference broker"),
        _text("client", "the client library"),
        _text("acks", "acks of the producers"),
        _int("seed", "seed of the run"),
        _int("nodes", "number of brokers", bits=32),
        _float("time_limit_s", "length of the load"),
        _text("command", "the command that repeats the run"),
        _int("operations", "rows of the history"),
        _int("elements", "elements of the history"),
        _int("length_ns", "time of the last row"),
        Column(name="torn", type=pa.bool_(), about="whether the recording has no end"),
        _int("set_aside", "rows of the history that could not be read and are in `rejected`"),
        Column(name="timestamps", type=pa.bool_(), about="whether elements have timestamps"),
        _text("plan", "plan.json, as it is"),
        _text("results", "results.json without the findings, as schema 3"),
        _text("environment", "env.json, as it is"),
        _text(
            "fingerprint",
            "digest of the files that were read; a run that was judged again has another one",
            nullable=False,
        ),
    ),
)

OPERATIONS: Final = Table(
    name="operations",
    about=(
        "One row for each row of a history: an invocation, a completion, or a row of the nemesis."
    ),
    order=("row",),
    columns=(
        _int("row", "number of the row in the order of the history", bits=32, nullable=False),
        _int("index", "index of the row, as findings name it", nullable=False),
        _int("time_ns", "nanoseconds since the run began", nullable=False),
        _int("process", "the process; -1 is the nemesis", bits=32, nullable=False),
        _text("type", "invoke, ok, fail or info", nullable=False),
        _text("f", "the kind of operation", nullable=False),
        _text("error", "name of the error, and the client's message"),
        _text("node", "the node that answered"),
        _int("partner", "row of the completion of an invocation, and the other way round", bits=32),
        _int("latency_ns", "of a completion: time since its invocation"),
    ),
)

ELEMENTS: Final = Table(
    name="elements",
    about="One row for each record, offset or other element of an operation's value.",
    order=("number",),
    columns=(
        _int("number", "number of the element in its run, in the order of values", nullable=False),
        _int("row", "row of the operation", bits=32, nullable=False),
        _int("position", "number of the micro-operation, from 0", bits=32, nullable=False),
        _int("kind", "what the element is: harness/history/kinds.py", bits=8, nullable=False),
        _int("key_id", "number of the key in its run", bits=32),
        _text("key", 'the key as JSON: `"orders-3"`'),
        _int("offset", "the offset"),
        _int("value", "the value, or the number of the text if there is one"),
        _text("text", "a value that is no integer, as JSON"),
        _int("timestamp", "timestamp of the record in ms since 1970"),
        _int("process", "the process of the operation", bits=32, nullable=False),
        _int("call", "row of the invocation; -1 if there is none", bits=32, nullable=False),
        _int(
            "outcome",
            "1 ok, 2 info, 3 fail; 0 for an invocation whose completion has the elements, and "
            "for rows of the nemesis",
            bits=8,
            nullable=False,
        ),
    ),
)

FAULTS: Final = Table(
    name="faults",
    about="One row for each fault, and for each planned moment that was skipped.",
    order=("number",),
    columns=(
        _int("number", "number of the fault in its run", bits=32, nullable=False),
        _text("nemesis", "the nemesis that chose it", nullable=False),
        _text("kind", "partition, kill, pause, ..."),
        _text(
            "fault", "name of the fault: `kill 1`, or `kill 1/n3` for one of several at that moment"
        ),
        _float("began_ms", "when its injection began; null if it was skipped"),
        _float("took_hold_ms", "when it was proved"),
        _float("healed_ms", "when its healing was confirmed"),
        _text("outcome", "held, missed, skipped, not-healed, lapsed or unknown", nullable=False),
        _text("proof", "how it was proved, or why it was not"),
    ),
)

DOUBTS: Final = Table(
    name="doubts",
    about="One row for each reason why a run proves less than asked.",
    order=(),
    columns=(
        _text("kind", "kind of the doubt", nullable=False),
        _text("subject", "what it is about"),
        _text("detail", "more about it"),
        _text("sentence", "the doubt in words"),
    ),
)

CHECKS: Final = Table(
    name="checks",
    about="One row for each checker that judged a run.",
    order=("checker",),
    columns=(
        _text(
            "checker", "the checker, or the model whose checkers judged together", nullable=False
        ),
        _text("model", "the model that the history was judged by", nullable=False),
        _text("verdict", "valid, invalid or unknown", nullable=False),
        _text("why", "the reason, where it is unknown"),
        _int("findings", "how many findings there are, shown or not"),
        _text("ruled_out", "consistency models that the history violates, as a JSON list"),
        _text("stats", "statistics of the checker, as JSON"),
    ),
)

ANOMALIES: Final = Table(
    name="anomalies",
    about="One row for each finding that is shown, forbidden or not.",
    order=("checker", "number"),
    columns=(
        _text("checker", "the checker that found it", nullable=False),
        _int("number", "number of the finding among those of its checker", bits=32, nullable=False),
        _text("type", "the anomaly", nullable=False),
        _text("promise", "never, allowed or impossible to say", nullable=False),
        _text("condition", "the condition of the contract's row that applies"),
        _text("contract", "the sentence of that row"),
        Column(
            name="ops", type=pa.list_(pa.int64()), about="indices of the operations", nullable=False
        ),
        _text("because", "the finding in words", nullable=False),
        _text("witness", "the finding as JSON", nullable=False),
    ),
)

CLUSTER: Final = Table(
    name="cluster",
    about="One row for each observed change of the cluster's state.",
    order=("time_ns",),
    columns=(
        _int("time_ns", "nanoseconds since the run began", nullable=False),
        _text("what", "what changed: leader, controller or clock", nullable=False),
        _text("key", "the partition, or the node that reported the change"),
        _text("line", "the line of cluster.jsonl", nullable=False),
    ),
)

REJECTED: Final = Table(
    name="rejected",
    about="One row for each row or file that could not be read.",
    order=(),
    columns=(
        _text("source", "the file", nullable=False),
        _text("place", "the line or row, where it is known"),
        _text("reason", "why it was set aside", nullable=False),
        _text("text", "the beginning of the rejected text"),
    ),
)

TABLES: Final = {
    table.name: table
    for table in (
        *(RUNS, OPERATIONS, ELEMENTS, FAULTS, DOUBTS, CHECKS, ANOMALIES, CLUSTER, REJECTED),
    )
}

DATED: Final = {
    name: table.schema.append(pa.field("date", pa.date32())) for name, table in TABLES.items()
}
"""By table, the columns of its rows on the way into the lake."""
