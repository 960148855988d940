"""Judges a stored run: the history's checkers, the contract, and what the run itself doubted."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from checkers import check
from checkers.contract import Contract
from checkers.verdict import Validity, Verdict
from harness.history.errors import HistoryError
from harness.history.history import History
from harness.run.outcome import Outcome
from harness.run.plan import Plan
from harness.run.workload import workload_of
from reports import sentences

_LOG = logging.getLogger(__name__)
_ACKNOWLEDGED_MIN = 100
"""With fewer operations that went well, a run has not shown much."""


def judge(
    directory: Path,
    plan: Plan,
    doubts: Sequence[str],
    figures: Mapping[str, Any],
    more: Sequence[Verdict] = (),
) -> Outcome:
    """Writes results.json and summary.txt beside the history. `more` is what others found."""
    verdicts, too_few = _verdicts(directory, plan)
    outcome = Outcome(
        directory=directory,
        command=plan.command(),
        verdicts=(*verdicts, *more),
        doubts=(*doubts, *too_few),
        figures=figures,
    )
    (directory / "results.json").write_text(json.dumps(outcome.results(), indent=2) + "\n")
    (directory / "summary.txt").write_text("\n".join(summary(outcome)) + "\n")
    _write_page(directory)
    return outcome


def _write_page(directory: Path) -> None:
    """The verdict is written by now; a page that fails must not cost it."""
    try:
        from reports.html import write_report

        write_report(directory)
    except Exception as failure:
        _LOG.warning("report.html could not be written: %r; the verdict stands", failure)


def judge_again(directory: Path, plan: Plan) -> Outcome:
    """By today's checkers; what the run doubted then it doubts still."""
    stored = directory / "results.json"
    if not stored.is_file():
        doubt = "the run came to no end, so nobody healed, and read back what was acknowledged"
        return judge(directory, plan, [doubt], {})
    found = json.loads(stored.read_text())
    doubts = [doubt for doubt in found["doubts"] if not doubt.startswith(_TOO_FEW)]
    return judge(directory, plan, doubts, found["figures"])


_STANDING = ("duplicate", "inconsistent-offsets", "G1a", "nonmonotonic-poll")
"""Once seen they stay; what looks lost now may still be read later."""
_TOO_FEW = "too few operations went well"


def _verdicts(directory: Path, plan: Plan) -> tuple[tuple[Verdict, ...], list[str]]:
    workload = workload_of(plan)
    try:
        history = History.load(directory)
    except HistoryError as error:
        return (Verdict(checker="history", validity=Validity.UNKNOWN, why=str(error)),), []
    verdicts = check(history, contract_of(plan), workload.checkers)
    went_well = _count_ok(history)
    if went_well < _ACKNOWLEDGED_MIN:
        return tuple(verdicts), [f"{_TOO_FEW}: {went_well} of at least {_ACKNOWLEDGED_MIN}"]
    return tuple(verdicts), []


def anomaly_so_far(directory: Path, plan: Plan) -> str | None:
    """One that no later operation can explain away, in a sentence; None if there is none yet."""
    try:
        history = History.load(directory)
    except HistoryError:
        return None
    names = [name for name in workload_of(plan).checkers if name in _STANDING]
    for verdict in check(history, contract_of(plan), names):
        for anomaly in verdict.anomalies:
            return f"{anomaly.type}: {anomaly.because}"
    return None


def _count_ok(history: History) -> int:
    import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

    count: int = pc.sum(pc.equal(history.ops["type"].cast("string"), "ok")).as_py() or 0
    return count


def contract_of(plan: Plan) -> Contract:
    return Contract(
        acks=plan.acks,
        idempotence=plan.enable_idempotence,
        retries=plan.retries,
        isolation_level=plan.isolation_level,
        unclean_leader_election=plan.is_unclean,
        min_insync_replicas=plan.min_insync_replicas,
        replication_factor=plan.replication_factor,
        faults=plan.faults,
        unsafe_faults=plan.unsafe_faults,
        judged_by="configured" if plan.contract == "configured" else "safe",
    )


def summary(outcome: Outcome) -> list[str]:
    """The verdict, the first anomalies with what they break, and how to have it all again."""
    return sentences.summary(outcome.results(), outcome.directory)
