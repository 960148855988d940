"""Stored runs whose rows are written by hand, so that their figures can be computed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from checkers.verdict import Anomaly, Validity, Verdict
from harness.history.history import PARQUET, History
from harness.history.op import Op, OpType
from harness.run.plan import Plan
from harness.store.results import FaultFigures, RunResults
from tests.pipeline.made_store import begun_run, write_results

KILL: FaultFigures = {
    "nemesis": "kill",
    "fault": "kill 1/n1",
    "kind": "kill",
    "proof": "it is gone",
    "began_ms": 900.0,
    "took_hold_ms": 1000.0,
    "healed_ms": 2000.0,
}
CLIENTS = 6
SIMULATED = {
    "queue": ("--unsafe", "--nemesis", "partition,kill", "--seed", "5"),
    "group": ("--nemesis", "churn,kill", "--seed", "8"),
    "txn": ("--nemesis", "kill", "--seed", "3"),
}
"""Options of simulated runs of `CLIENTS` clients, by workload."""


class Rows:
    """Calls and notices at times in ms; the order of the history is that of the times."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, int, int, OpType, str, Any]] = []

    def call(
        self, process: int, f: str, begin_ms: float, end_ms: float, value: Any, type_: OpType = "ok"
    ) -> None:
        self._row(begin_ms, process, "invoke", f, None)
        self._row(end_ms, process, type_, f, value)

    def send(
        self, process: int, begin_ms: float, end_ms: float, key: str, offset: int | None
    ) -> None:
        """A send that is acknowledged at this offset, or refused if there is none."""
        value = 7 if offset is None else [offset, (process + 1) << 32 | offset]
        type_: OpType = "fail" if offset is None else "ok"
        self.call(process, "send", begin_ms, end_ms, [["send", key, value]], type_)

    def poll(
        self, process: int, begin_ms: float, end_ms: float, read: dict[str, Sequence[int]]
    ) -> None:
        records = {key: [[offset, offset] for offset in offsets] for key, offsets in read.items()}
        self.call(process, "poll", begin_ms, end_ms, [["poll", records]])

    def notice(self, process: int, ms: float, f: str, generation: int, keys: list[str]) -> None:
        value = {"group": "g", "generation": generation, "keys": keys}
        self._row(ms, process, "ok", f, value)

    def _row(self, ms: float, process: int, type_: OpType, f: str, value: Any) -> None:
        self._rows.append((ms, len(self._rows), process, type_, f, value))

    def history(self) -> History:
        return History.of(
            Op(index, int(ms * 1_000_000), process, type_, f, value)
            for index, (ms, _, process, type_, f, value) in enumerate(
                sorted(self._rows, key=lambda row: row[:2])
            )
        )


def under_a_kill(slowness: float = 1.0) -> Rows:
    """Two clients and a kill from 1.0 s to 2.0 s."""
    rows = Rows()
    rows.send(0, 100, 110, "o-0", 0)
    rows.send(1, 150, 160, "o-0", 1)
    rows.send(0, 1050, 1950, "o-0", None)
    rows.send(1, 1100, 2000 + 300 * slowness, "o-0", 2)
    rows.send(0, 2050, 2100, "o-1", 0)
    rows.poll(0, 3000, 3010, {"o-0": [0, 1], "o-1": [0]})
    rows.poll(1, 4000, 4005, {"o-0": [2]})
    return rows


def with_a_group() -> Rows:
    """One member pauses from 1.0 s to 1.3 s, the other leaves at 2.0 s."""
    rows = Rows()
    rows.notice(0, 100, "assigned", 1, ["o-0", "o-1"])
    rows.poll(0, 90, 105, {})
    rows.notice(0, 1000, "revoked", 1, ["o-0", "o-1"])
    rows.notice(0, 1300, "assigned", 2, ["o-0"])
    rows.poll(0, 950, 1400, {})
    rows.notice(1, 1310, "assigned", 2, ["o-1"])
    rows.poll(1, 1290, 1320, {})
    rows.poll(0, 1500, 1600, {})
    rows.notice(1, 2005, "revoked", 2, ["o-1"])
    rows.call(1, "leave", 2000, 2010, None)
    return rows


def stored(
    store: Path,
    number: int,
    rows: Rows,
    *,
    faults: Iterable[FaultFigures] = (),
    head: str = "aaaaaaaaaaaaaaaa",
    validity: Validity = Validity.VALID,
    **plan: Any,
) -> Path:
    """Run `number` of the store, one every minute; `head` is the commit that was tested."""
    planned = Plan(seed=number, nemesis="kill", on="sim", concurrency=2, **plan)
    directory = begun_run(store, number, planned, head=head)
    (directory / "report.html").write_text("<!doctype html><title>the report</title>")
    write_results(directory, _results(directory.name, planned, validity, list(faults)))
    rows.history().write_parquet(directory / PARQUET)
    return directory


def _results(name: str, plan: Plan, validity: Validity, faults: list[FaultFigures]) -> RunResults:
    is_invalid = validity is Validity.INVALID
    lost = Anomaly(type="lost-write", ops=(4, 9), because="it is gone", witness={"key": "o-0"})
    return RunResults(
        run=name,
        command=plan.command(),
        validity=validity,
        verdicts=(
            Verdict(
                checker="lost-write",
                validity=validity,
                found=(lost,) if is_invalid else (),
                stats={"looked-at": 4, "count": 3 if is_invalid else 0},
            ),
            Verdict(checker="duplicate", validity=Validity.VALID,
                    stats={"looked-at": 4, "count": 0}),
        ),
        figures={"faults": faults, "states": {"elections": 2, "leaderless": 0, "rebalances": None}},
    )  # fmt: skip
