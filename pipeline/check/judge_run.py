"""The verdict on one run of the lake, as `harness analyze` or `harness check` would give it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkers.contract import Contract
from checkers.models import Question
from checkers.models import judge as judge_by_model
from checkers.transactions.list_append import WholeLists
from checkers.unfinished import of_torn
from checkers.verdict import Validity, Verdict
from harness.doubts import Doubt
from harness.history.history import History
from harness.run.judging import LeftByRun, PartOf, contract_of, judge_history, left_by_run
from harness.run.outcome import validity_of
from harness.run.plan import Plan
from harness.store.inside import MissingError
from harness.store.results import from_json
from harness.store.stored_run import PLAN, read_results


@dataclass(frozen=True, slots=True)
class Asked:
    """A run as the lake has it, without its history."""

    run: str
    model: str | None
    """The model of a history without a plan."""
    plan: str | None
    results: str | None
    is_torn: bool
    set_aside: int = 0
    """Rows of the history that ingest could not read."""

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Asked:
        """From a row of the table `runs`."""
        known = (row["run"], row["model"], row["plan"], row["results"], bool(row["torn"]))
        return cls(*known, set_aside=int(row["set_aside"] or 0))


@dataclass(frozen=True, slots=True)
class JudgedRun:
    validity: Validity
    verdicts: tuple[Verdict, ...]
    doubts: tuple[Doubt, ...] = ()


def judge_run(
    asked: Asked,
    history: History,
    part_of: PartOf | None = None,
    lists: WholeLists | None = None,
) -> JudgedRun:
    """`part_of` or `lists`: the larger history of logs or of lists that this is the rest of."""
    if asked.plan is None:
        question = Question(gone=None if part_of is None else part_of.gone, lists=lists)
        return of_model(asked, judge_by_model(history, asked.model or "kafka", question))
    plan = Plan.of_json(asked.plan, Path(asked.run) / "plan.json")
    left = left_by_run(None if asked.results is None else from_json(json.loads(asked.results)))
    return _as_read(asked, _judged(history, plan, left, part_of))


def of_model(asked: Asked, verdict: Verdict) -> JudgedRun:
    """The judgement of a history without a plan, on which its model gave this verdict."""
    verdict = of_torn(verdict) if asked.is_torn else verdict
    return _as_read(asked, JudgedRun(verdict.validity, (verdict,)))


def _as_read(asked: Asked, judged: JudgedRun) -> JudgedRun:
    """The same of a history of which some rows could not be read."""
    if not asked.set_aside:
        return judged
    why = f"{asked.set_aside:,} rows of the history could not be read and were set aside"
    verdicts = (*judged.verdicts, Verdict(checker="history", validity=Validity.UNKNOWN, why=why))
    return JudgedRun(validity_of(verdicts, judged.doubts), verdicts, judged.doubts)


def contract_asked(asked: Asked) -> Contract:
    """What the run's configuration promises."""
    if asked.plan is None:
        return Question().contract
    return contract_of(Plan.of_json(asked.plan, Path(asked.run) / "plan.json"))


def judge_stored(directory: Path) -> JudgedRun:
    """The same of a run in a store, without writing anything."""
    plan = Plan.load(directory / PLAN)
    try:
        left = left_by_run(read_results(directory))
    except MissingError:
        left = left_by_run(None)
    return _judged(History.load(directory), plan, left)


def _judged(
    history: History, plan: Plan, left: LeftByRun, part_of: PartOf | None = None
) -> JudgedRun:
    judged = judge_history(history, plan, left.doubts, left.figures, part_of)
    verdicts = (*judged.verdicts, *left.verdicts)
    return JudgedRun(validity_of(verdicts, judged.doubts), verdicts, judged.doubts)
