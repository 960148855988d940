"""Stored runs made in milliseconds: a few operations, a plan, results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from checkers.contract import Promise
from checkers.verdict import Anomaly, Validity, Verdict
from harness.doubts import Doubt, DoubtKind
from harness.history.history import PARQUET, History
from harness.history.op import Op
from harness.run.plan import Plan
from harness.store.results import RunResults, to_json

BEGAN = datetime(2026, 11, 16, 0, 15, tzinfo=UTC)


def ops(count: int = 20, clients: int = 3) -> Iterator[Op]:
    """Sends of the clients in turn, the last without a completion, and one poll of all records."""
    kept: list[list[int]] = []
    index = 0

    def row(process: int, type_: str, f: str, value: object) -> Op:
        nonlocal index
        index += 1
        # mypy knows types of rows by their names alone.
        return Op(index - 1, 1000 * index, process, type_, f, value, None, None, None, None)  # type: ignore[arg-type]

    for number in range(count):
        process = number % clients
        value = (process + 1) << 32 | number
        yield row(process, "invoke", "send", [["send", "orders-0", value]])
        if number < count - 1:
            yield row(process, "ok", "send", [["send", "orders-0", [number, value]]])
            kept.append([number, value])
    yield row(clients, "invoke", "poll", [["poll"]])
    yield row(clients, "ok", "poll", [["poll", {"orders-0": kept}]])


def results(directory: Path, plan: Plan, validity: Validity = Validity.VALID) -> RunResults:
    anomaly = Anomaly(type="lost-write", ops=(1, 3), because="it is gone", witness={"key": "x"})
    allowed = Anomaly(type="duplicate", ops=(5,), because="twice", promise=Promise.ALLOWED)
    return RunResults(
        run=directory.name,
        command=plan.command(),
        validity=validity,
        verdicts=(
            Verdict(
                checker="lost-write",
                validity=validity,
                found=(anomaly, allowed) if validity is Validity.INVALID else (),
            ),
        ),
        doubts=(Doubt(DoubtKind.TOO_FEW_WRITES, "", "3 of 20"),),
        figures={
            "ok": 20,
            "faults": [
                {"nemesis": "kill", "fault": "kill 1/n1", "kind": "kill", "proof": "it is gone",
                 "began_ms": 1.0, "took_hold_ms": 2.0, "healed_ms": 3.0},
                {"nemesis": "kill", "fault": "kill 2/n2", "skipped": "no time was left"},
            ],
        },
    )  # fmt: skip


def begun_run(store: Path, number: int, plan: Plan, *, head: str) -> Path:
    """Run `number` of a store, one every minute, with the files that a run writes first."""
    began = BEGAN + timedelta(minutes=number)
    directory = store / plan.name / stamp(began)
    directory.mkdir(parents=True)
    write_begin(directory, plan, began)
    environment = {"git": {"head": head, "is_dirty": False}, "packages": {}}
    (directory / "env.json").write_text(json.dumps(environment))
    return directory


def stamp(began: datetime) -> str:
    """Name of the directory of a run that began then."""
    return began.strftime("%Y%m%dT%H%M%S.%f")[:-3] + "Z"


def write_begin(directory: Path, plan: Plan, began: datetime) -> None:
    (directory / "plan.json").write_text(plan.text())
    (directory / "began.json").write_text(json.dumps({"wall": began.isoformat(), "stage_ns": 1}))


def stored_run(store: Path, number: int = 0, history: History | None = None) -> Path:
    """Run `number` of a store, one every minute."""
    plan = Plan(seed=number, nemesis="kill", on="sim")
    directory = begun_run(store, number, plan, head="0123456789abcdef")
    change = {"time_ns": 5, "node": "n1", "key": "orders-0", "leader": "n1", "epoch": 1}
    (directory / "cluster.jsonl").write_text(json.dumps(change) + "\n")
    write_results(directory, results(directory, plan))
    (history or History.of(ops())).write_parquet(directory / PARQUET)
    return directory


def write_results(directory: Path, found: RunResults) -> None:
    (directory / "results.json").write_text(json.dumps(to_json(found)))


def many_runs(store: Path, count: int, operations: int = 500) -> None:
    """Fast: the history is the same in all of them, and only the small files differ."""
    history = History.of(ops(operations, 10))
    first = stored_run(store, 0, history)
    for number in range(1, count):
        plan = Plan(seed=number, nemesis="kill", on="sim")
        began = BEGAN + timedelta(minutes=15 * number)
        directory = first.with_name(stamp(began))
        shutil.copytree(first, directory)
        write_begin(directory, plan, began)
        write_results(directory, results(directory, plan))
