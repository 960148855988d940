"""The status of a run under way, as a pure function of the records of its topic so far."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from checkers import all_checkers, check
from harness.history.collected import Collected
from harness.history.history import History
from harness.history.jsonl import Unexpected, op_of
from harness.history.op import NEMESIS, Op
from harness.history.order import in_order
from harness.run.judging import contract_of
from harness.run.plan import Plan
from harness.run.stage import racks_of
from harness.run.tally import Rows, Tally
from harness.run.workload import workload_of
from harness.store.inside import DamagedError
from reports.faults import bands

_NEVER_NS: Final = 2**62
_ANOMALIES_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    run: str
    rows: int = 0
    missing: int = 0
    """Rows that were recorded and are not in the topic."""
    time_s: float = 0.0
    """Time of the last row, since the run began."""
    unread: int = 0
    """Offsets that are acknowledged and that no poll has returned."""
    lag: Mapping[str, int] = field(default_factory=dict)
    """Unread offsets by partition; partitions without any are left out."""
    faults: Sequence[str] = ()
    """Faults in force at the last row."""
    anomalies: Sequence[str] | None = ()
    """Anomalies that no later row can explain; None if they are unknown."""
    why: str | None = None
    """Why the anomalies are unknown, or the run broke off."""
    verdict: str | None = None
    """None while the run is under way."""
    batches: Sequence[int] = ()
    """Micro-batches that brought records of the run."""

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of_text(cls, text: str) -> Status:
        return cls(**json.loads(text))


class _NoRecorder:
    """Rows for a `Tally` that only counts."""

    def __len__(self) -> int:
        return 0

    def record(self, *_: Any, **__: Any) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


def status_of(run: str, records: Iterable[str], batches: Sequence[int] = ()) -> Status:
    """The status of a run from its records, in any order, each once or several times."""
    plan_text, end, rows = _sorted(records)
    ops = _ops(rows)
    total = end["rows"] if end else max(rows, default=-1) + 1
    missing = max(0, total - len(rows))
    tally = _counted(ops)
    lag = {
        key: upto - tally.seen.get(key, 0)
        for key, upto in sorted(tally.acknowledged.items())
        if upto > tally.seen.get(key, 0)
    }
    anomalies, why = _certain_anomalies(run, plan_text, ops, missing)
    return Status(
        run=run,
        rows=len(rows),
        missing=missing,
        time_s=max((op.time_ns for op in ops), default=0) / 1e9,
        unread=sum(lag.values()),
        lag=lag,
        faults=_in_force(plan_text, ops),
        anomalies=anomalies,
        why=(end["why"] if end else None) or why,
        verdict=end["verdict"] if end else None,
        batches=tuple(batches),
    )


def _sorted(
    records: Iterable[str],
) -> tuple[str | None, dict[str, Any] | None, dict[int, dict[str, Any]]]:
    """The plan, the record of the end, and the rows by number, each once."""
    plan, end = None, None
    rows: dict[int, dict[str, Any]] = {}
    for text in records:
        fields = json.loads(text)
        record = fields.pop("record", None)
        fields.pop("run", None)
        if record == "plan":
            plan = fields["plan"]
        elif record == "end":
            end = fields
        elif record == "row":
            rows[fields["index"]] = fields
    return plan, end, rows


def _ops(rows: Mapping[int, dict[str, Any]]) -> list[Op]:
    found, before, time_ns = [], -1, 0
    for number in sorted(rows):
        op = op_of(rows[number], before, time_ns)
        before, time_ns = op.index, op.time_ns
        found.append(op)
    return found


def _counted(ops: Iterable[Op]) -> Tally:
    rows: Rows = _NoRecorder()
    tally = Tally(rows, 0)
    for op in ops:
        if op.process != NEMESIS:
            tally.row(op.time_ns, op.process, op.type, op.f, op.value)
    return tally


def _plan(run: str, text: str) -> Plan | None:
    try:
        return Plan.of_json(text, Path(run) / "plan.json")
    except (DamagedError, ValueError):
        return None


def _in_force(plan_text: str | None, ops: Sequence[Op]) -> tuple[str, ...]:
    plan = None if plan_text is None else _plan("plan", plan_text)
    nodes = () if plan is None else tuple(racks_of(plan))
    found = bands([op for op in ops if op.process == NEMESIS], nodes, _NEVER_NS)
    return tuple(band.label or band.name for band in found if band.end_ns == _NEVER_NS)


def _certain_anomalies(
    run: str, plan_text: str | None, ops: Sequence[Op], missing: int
) -> tuple[tuple[str, ...] | None, str | None]:
    """Anomalies that --stop-on-anomaly would find, or the reason why they are unknown."""
    if missing:
        return None, f"{missing:,} rows are not in the topic"
    plan = None if plan_text is None else _plan(run, plan_text)
    if plan is None:
        return None, "the topic does not have the plan, or one of another version"
    collected = Collected()
    for op in ops:
        collected.add(op)
    history = History(in_order(collected.tables()), is_torn=True)
    names = [name for name in workload_of(plan).checkers if all_checkers()[name].stands]
    found = [
        f"{anomaly.type}: {anomaly.because}"
        for verdict in check(history, contract_of(plan), names)
        for anomaly in verdict.anomalies
    ]
    return tuple(found[:_ANOMALIES_MAX]), None


def unreadable(run: str, error: Exception, batches: Sequence[int]) -> Status:
    """The status of a run whose records are not in the form of docs/reference/history.md."""
    return Status(run=run, anomalies=None, why=f"{error}", batches=tuple(batches))


def status_or_why(run: str, records: Sequence[str], batches: Sequence[int]) -> Status:
    """Same as `status_of`, but records that other programs wrote do not end the job."""
    try:
        return status_of(run, records, batches)
    except (Unexpected, KeyError, TypeError, ValueError) as error:
        return unreadable(run, error, batches)
