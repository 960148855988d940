"""Judges a stored run: the history's checkers, the contract, and what the run itself doubted."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from checkers import check
from checkers.availability import CHECKER, availability
from checkers.contract import Contract
from checkers.kept.lists import LIST_APPEND, list_verdict
from checkers.verdict import Validity, Verdict
from harness.history import kinds
from harness.history.errors import HistoryError
from harness.history.history import CHUNKS, PARQUET, History, finish
from harness.history.op import NEMESIS
from harness.run.outcome import BY_INVARIANTS, Outcome, verdict_of
from harness.run.plan import Plan
from harness.run.stage import racks_of
from harness.run.survived import survived
from harness.run.workload import deletes, workload_of
from harness.store.inside import DamagedError, MissingError, refuse_strangers, write_inside
from harness.store.stored_run import RESULTS, read_results
from reports import sentences

_LOG = logging.getLogger(__name__)
NOT_READ_BACK = "not everything could be read back"
_TOO_FEW = "too few writes went well"
_WRITES_MIN = 50
"""With fewer, a run has not shown much."""
_WRITES = ("send", "put", "create", "alter", "delete")
_LISTS = "txn"
_WRITTEN = (kinds.SEND, kinds.SENT, kinds.APPEND, kinds.WRITE)
"""A transaction may only read: whether it writes, its elements tell."""
_STANDING = (
    "duplicate",
    "inconsistent-offsets",
    "G1a",
    "nonmonotonic-poll",
    "phantom-read",
    LIST_APPEND,
    "phantom-append",
    "replaced-get",
    "phantom-topic",
)
"""Once seen they stay; what looks lost now may still be read later."""
_NEEDS_ALL_READ = frozenset({"unseen", "lost-append", "lost-put", "lost-change"})
CRASH = "crash"
"""The figure that says by which exception a run ended."""
_NO_END = "the run came to no end"
_FORGOTTEN = "what the run itself doubted is not known"
BROKEN_OFF = "the run was broken off by a finding"
_NEEDS_ALL_WELL = frozenset({"lost-change"})
"""Also asked of brokers that have not caught up: then their answers may be old."""
CALM = "calm"
"""Among the figures: the cluster after the last fault, as harness/run/aftermath.py saw it."""
_NOT_WELL = ("after healing", "not healed")


def judge(
    directory: Path,
    plan: Plan,
    doubts: Sequence[str],
    figures: Mapping[str, Any],
    more: Sequence[Verdict] = (),
) -> Outcome:
    """Writes results.json and summary.txt beside the history. `more` is what others found."""
    verdicts: Sequence[Verdict]
    try:
        refuse_strangers(directory, PARQUET, CHUNKS)
        history = History.load(directory)
    except (HistoryError, DamagedError) as error:
        verdicts = [Verdict(checker="history", validity=Validity.UNKNOWN, why=str(error))]
    else:
        verdicts = _verdicts(history, plan, _not_to_be_asked(doubts))
        is_write = _are_writes(history)
        doubts = [*doubts, *_too_few(int(is_write.sum()) - _in_calm(figures))]
        if figures:  # a run that came to no end has none, and has survived nothing
            figures = {**figures, **_survived(directory, plan, history, is_write)}
    outcome = Outcome(
        directory=directory,
        command=plan.command(),
        verdicts=(*verdicts, *_availability(plan, figures), *more),
        doubts=tuple(doubts),
        figures=figures,
    )
    _write(outcome)
    _write_page(directory)
    return outcome


def judge_crash(
    directory: Path,
    plan: Plan,
    doubts: Sequence[str],
    figures: Mapping[str, Any],
    crash: Exception,
) -> None:
    """Leaves results.json with what a run has that crashed; it can be no better than unknown."""
    name, message = type(crash).__name__, str(crash)
    told = {"type": name, "message": message, "traceback": traceback.format_exception(crash)}
    figures = {**figures, CRASH: told}
    doubts = [f"{_NO_END}: {name}: {message}", *doubts]
    try:
        with suppress(HistoryError):
            finish(directory / "history")
        judge(directory, plan, doubts, figures)
    except Exception as failure:  # the same one perhaps: then it is told without a judgement
        _LOG.warning("a run that crashed could not be judged: %r", failure)
        unjudged = Verdict(checker="history", validity=Validity.UNKNOWN, why=repr(failure))
        with suppress(OSError):  # a store that takes nothing any more may be why it crashed
            _write(
                Outcome(
                    directory=directory,
                    command=plan.command(),
                    verdicts=(unjudged,),
                    doubts=tuple(doubts),
                    figures=figures,
                )
            )


def _write(outcome: Outcome) -> None:
    directory = outcome.directory
    write_inside(directory, RESULTS, json.dumps(outcome.results(), indent=2) + "\n")
    write_inside(directory, "summary.txt", "\n".join(summary(outcome)) + "\n")


def _availability(plan: Plan, figures: Mapping[str, Any]) -> list[Verdict]:
    """Nothing is said of a run that never came to its calm end."""
    calm = figures.get(CALM)
    if calm is None:
        return []
    try:
        return [availability(calm, contract_of(plan))]
    except (KeyError, TypeError, AttributeError, ValueError) as damage:
        # A stored run that is judged again may have been changed by hand.
        why = f"figures.{CALM} of {RESULTS} is damaged: {damage!r}"
        return [Verdict(checker=CHECKER, validity=Validity.UNKNOWN, why=why)]


def _in_calm(figures: Mapping[str, Any]) -> int:
    """Acknowledged writes that were tried when all was healed: they show nothing of the faults."""
    try:
        return int(figures[CALM]["writes"]["acknowledged"])
    except (KeyError, TypeError, ValueError):  # none were tried, or the record is damaged
        return 0


def _not_to_be_asked(doubts: Sequence[str]) -> frozenset[str]:
    """Checkers that would take for lost what nobody has tried to read, or not when all was well."""
    if any(each.startswith((NOT_READ_BACK, _NO_END, _FORGOTTEN, BROKEN_OFF)) for each in doubts):
        return _NEEDS_ALL_READ
    if any(each.startswith(_NOT_WELL) or "could not be undone" in each for each in doubts):
        return _NEEDS_ALL_WELL
    return frozenset()


def _write_page(directory: Path) -> None:
    """The verdict is written by now; a page that fails must not cost it."""
    try:
        from reports.html import write_report

        write_report(directory)
    except Exception as failure:
        _LOG.warning("report.html could not be written: %r; the verdict stands", failure)


def judge_again(directory: Path, plan: Plan) -> Outcome:
    """By today's checkers; what the run doubted then it doubts still."""
    try:
        found = read_results(directory)
    except MissingError:
        doubt = f"{_NO_END}, so nobody healed, and read back what was acknowledged"
        return judge(directory, plan, [doubt], {})
    except DamagedError as damaged:
        doubt = f"{_FORGOTTEN}: {damaged.path.name} was damaged: {damaged.why}"
        return judge(directory, plan, [doubt], {})
    doubts = [doubt for doubt in found["doubts"] if not doubt.startswith(_TOO_FEW)]
    of_others = [check for check in found["checks"] if check["checker"] == BY_INVARIANTS]
    return judge(directory, plan, doubts, found["figures"], more=[*map(verdict_of, of_others)])


def _survived(
    directory: Path, plan: Plan, history: History, is_write: npt.NDArray[np.bool_]
) -> dict[str, Any]:
    """Nothing where it cannot be told; a verdict does not need it."""
    times_ns = np.asarray(history.ops["time"])
    rows = np.flatnonzero(np.asarray(history.ops["process"]) == NEMESIS)
    nemesis = [history.op(index) for index in np.asarray(history.ops["index"])[rows].tolist()]
    nodes = tuple(racks_of(plan))
    end_ns = int(times_ns[-1]) if len(times_ns) else 0
    try:
        found = survived(directory, nemesis, times_ns[is_write], nodes, end_ns)
        return {"survived": found} if found else {}
    except Exception as failure:
        _LOG.warning("what was survived could not be told: %r; the verdict stands", failure)
        return {}


def _verdicts(history: History, plan: Plan, not_asked: frozenset[str]) -> list[Verdict]:
    names = [name for name in workload_of(plan).checkers if name not in not_asked]
    return _checked(history, plan, names)


def _too_few(went_well: int) -> list[str]:
    if went_well >= _WRITES_MIN:
        return []
    return [f"{_TOO_FEW}: {went_well} of at least {_WRITES_MIN}"]


def _checked(history: History, plan: Plan, names: Sequence[str]) -> list[Verdict]:
    """In the order of the names; list-append is a model of its own, not one anomaly."""
    contract = contract_of(plan)
    verdicts = check(history, contract, [name for name in names if name != LIST_APPEND])
    if LIST_APPEND in names:
        verdicts.insert(names.index(LIST_APPEND), list_verdict(history, contract))
    return verdicts


def anomaly_so_far(directory: Path, plan: Plan) -> str | None:
    """One that no later operation can explain away, in a sentence; None if there is none yet."""
    try:
        history = History.load(directory)
    except HistoryError:
        return None
    names = [name for name in workload_of(plan).checkers if name in _STANDING]
    for verdict in _checked(history, plan, names):
        for anomaly in verdict.anomalies:
            return f"{anomaly.type}: {anomaly.because}"
    return None


def _are_writes(history: History) -> npt.NDArray[np.bool_]:
    """For each row of the history, whether it says that a write went well."""
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
    import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

    is_ok: npt.NDArray[np.bool_] = np.asarray(
        pc.equal(history.ops["type"].cast("string"), "ok"), dtype=bool
    )
    f = history.ops["f"].cast("string")
    is_write: npt.NDArray[np.bool_] = is_ok & np.asarray(pc.is_in(f, value_set=pa.array(_WRITES)))
    is_list: npt.NDArray[np.bool_] = is_ok & np.asarray(pc.equal(f, _LISTS))
    if not is_list.any():
        return is_write
    is_append = pc.is_in(history.elements["kind"], value_set=pa.array(_WRITTEN, pa.int8()))
    appends = np.zeros(len(is_ok), dtype=bool)
    appends[np.asarray(pc.unique(history.elements["op"].filter(is_append)))] = True
    return is_write | (is_list & appends)


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
        retention=deletes(plan) is not None,
        unsafe_faults=plan.unsafe_faults,
        judged_by="configured" if plan.contract == "configured" else "safe",
    )


def summary(outcome: Outcome) -> list[str]:
    """The verdict, the first anomalies with what they break, and how to have it all again."""
    return sentences.summary(outcome.results(), outcome.directory)
