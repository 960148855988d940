"""Judges a stored run: applies the checkers and the contract, and adds the run's doubts."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from checkers import all_checkers, check
from checkers.checker import Evidence, Need
from checkers.cluster.availability import AVAILABILITY
from checkers.contract import Contract
from checkers.cuts.projection import Gone
from checkers.verdict import Validity, Verdict
from harness.doubts import Doubt, DoubtKind
from harness.history.errors import HistoryError
from harness.history.history import CHUNKS, PARQUET, History, finish
from harness.history.op import NEMESIS, Op
from harness.history.operations import WRITING_KINDS, Writes, named
from harness.registry import REGISTRY
from harness.run.feasible import WRITES_MIN
from harness.run.idle_faults import idle_under_faults
from harness.run.outcome import BY_INVARIANTS, Outcome
from harness.run.plan import Plan
from harness.run.stage import racks_of
from harness.run.survived import survived
from harness.run.workload import deletes, timestamp_type, workload_of
from harness.store.inside import DamagedError, MissingError, refuse_strangers, write_inside
from harness.store.results import Figures, NotJudged, RunResults, to_json
from harness.store.stored_run import RESULTS, read_results
from reports import sentences
from reports.calls import Calls
from reports.faults import bands
from reports.groups_seen import groups_seen
from reports.protocol_states import count_states
from reports.served import served_again
from reports.transactions_seen import transactions_seen

_LOG = logging.getLogger(__name__)
_LACKS: Mapping[DoubtKind, Need] = {
    DoubtKind.NO_END: Need.READ_BACK,
    DoubtKind.BROKEN_OFF: Need.READ_BACK,
    DoubtKind.FORGOTTEN: Need.READ_BACK,
    DoubtKind.NOT_READ_BACK: Need.READ_BACK,
    DoubtKind.TORN: Need.READ_BACK,
    DoubtKind.NOT_HEALED: Need.HEALED,
    DoubtKind.OUT_OF_SYNC: Need.HEALED,
}
"""The need that a run with such a doubt lacks. A checker with this need would report a record as
lost that no client tried to read, or that a lagging broker has not copied yet."""


_ONE_MACHINE = ("local", "netns", "sim")
"""Places whose nodes read the wall clock of one machine, unless a nemesis moves it for some."""
_OF_HISTORY = (DoubtKind.TOO_FEW_WRITES, DoubtKind.NO_WRITES_IN_FAULTS, DoubtKind.TORN)
"""Doubts that are found anew when a stored run is judged again."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a history and its plan say, without the files of a run."""

    verdicts: tuple[Verdict, ...]
    not_judged: tuple[NotJudged, ...]
    doubts: tuple[Doubt, ...]
    """Those that the run had before, and those about its history."""


def unreadable(error: Exception) -> Verdict:
    """The verdict on a history that cannot be read."""
    return Verdict(checker="history", validity=Validity.UNKNOWN, why=str(error))


@dataclass(frozen=True, slots=True)
class PartOf:
    """What is known of a larger history, of which only a part is judged (checkers/cuts)."""

    gone: Gone
    written_ns: npt.NDArray[np.int64]
    """Times of all writes that went well."""
    end_ns: int


def judge_history(
    history: History,
    plan: Plan,
    doubts: Sequence[Doubt],
    figures: Figures,
    part_of: PartOf | None = None,
) -> Judged:
    """Apply the workload's checkers and the contract; figures are empty if the run did not end."""
    if history.is_torn:
        doubts = [*doubts, Doubt(DoubtKind.TORN)]
    names, not_judged = _to_ask(plan, doubts, history)
    calm = figures.get("calm")
    if calm is not None:  # the run reached its calm phase
        names.append(AVAILABILITY)
    gone = None if part_of is None else part_of.gone
    verdicts = check(Evidence(history, calm=calm, gone=gone), contract_of(plan), names)
    if part_of is None:
        times_ns = np.asarray(history.ops["time"])
        written_ns = times_ns[_are_writes(history)]
        end_ns = int(times_ns[-1]) if len(times_ns) else 0
    else:
        written_ns, end_ns = part_of.written_ns, part_of.end_ns
    doubts = [*doubts, *_too_few(max(0, written_ns.size - _in_calm(figures)))]
    if figures:
        nodes = tuple(racks_of(plan))
        doubts = [*doubts, *idle_under_faults(_nemesis_rows(history), written_ns, nodes, end_ns)]
    return Judged(tuple(verdicts), tuple(not_judged), tuple(doubts))


def judge(
    directory: Path,
    plan: Plan,
    doubts: Sequence[Doubt],
    figures: Figures,
    more: Sequence[Verdict] = (),
) -> Outcome:
    """Write results.json and summary.txt beside the history. `more` are verdicts of invariants."""
    try:
        refuse_strangers(directory, PARQUET, CHUNKS)
        history = History.load(directory)
    except (HistoryError, DamagedError) as error:
        judged = Judged((unreadable(error),), (), tuple(doubts))
    else:
        judged = judge_history(history, plan, doubts, figures)
        if figures:  # the run finished
            figures = figures.copy()
            figures.update(_survived(directory, plan, history))
    outcome = Outcome(
        directory=directory,
        command=plan.command(),
        verdicts=(*judged.verdicts, *more),
        doubts=judged.doubts,
        not_judged=judged.not_judged,
        consistency=workload_of(plan).consistency,
        figures=figures,
    )
    _write(outcome)
    return _with_causes_and_page(outcome)


def judge_crash(
    directory: Path,
    plan: Plan,
    doubts: Sequence[Doubt],
    figures: Figures,
    crash: Exception,
) -> None:
    """Write results.json of a crashed run; its verdict is at best unknown."""
    name, message = type(crash).__name__, str(crash)
    figures = figures.copy()
    figures["crash"] = {
        "type": name,
        "message": message,
        "traceback": traceback.format_exception(crash),
    }
    doubts = [Doubt(DoubtKind.NO_END, detail=f"{name}: {message}"), *doubts]
    try:
        with suppress(HistoryError):
            finish(directory / "history")
        judge(directory, plan, doubts, figures)
    except Exception as failure:  # perhaps the same failure again
        _LOG.warning("the crashed run could not be judged: %r", failure)
        unjudged = Verdict(checker="history", validity=Validity.UNKNOWN, why=repr(failure))
        with suppress(OSError):  # a full store may be the cause of the crash
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
    write_inside(directory, RESULTS, json.dumps(to_json(outcome.results()), indent=2) + "\n")
    write_inside(directory, "summary.txt", "\n".join(summary(outcome)) + "\n")


def _in_calm(figures: Figures) -> int:
    """Number of writes acknowledged in the calm phase, which prove nothing about faults."""
    try:
        return int(figures["calm"]["writes"]["acknowledged"])
    except (KeyError, TypeError, ValueError):  # none were tried, or the record is damaged
        return 0


def _to_ask(
    plan: Plan, doubts: Sequence[Doubt], history: History
) -> tuple[list[str], list[NotJudged]]:
    """Names of the checkers to ask, and those whose need the run lacks."""
    lacking = {_LACKS[doubt.kind] for doubt in doubts if doubt.kind in _LACKS}
    if history.timestamps is None or timestamp_type(plan) is None:
        # Older versions and other clients record none, which is no reason for a doubt.
        lacking.add(Need.TIMESTAMPS)
    names, not_judged = [], []
    for name in workload_of(plan).checkers:
        missing = [need for need in Need if need in all_checkers()[name].needs & lacking]
        if missing:
            not_judged.append(NotJudged(name, missing[0].value))
        else:
            names.append(name)
    return names, not_judged


def _with_causes_and_page(outcome: Outcome) -> Outcome:
    """Add causes and the page; the verdict is already written, so a failure is only logged."""
    try:
        from reports.html import write_page
        from reports.material import load
        from reports.placing import placed_causes
        from reports.stories import as_figures

        material = load(outcome.directory)
        found = placed_causes(material)
        if found.causes:
            outcome = replace(outcome, causes=tuple(map(as_figures, found.causes)))
            _write(outcome)
        write_page(material, found)
    except Exception as failure:
        _LOG.warning("report.html could not be written: %r; the verdict stands", failure)
    return outcome


def judge_again(directory: Path, plan: Plan) -> Outcome:
    """Judge with the current checkers; the doubts of the run stay."""
    try:
        found: RunResults | None = read_results(directory)
    except MissingError:
        found = None
    except DamagedError as damaged:
        doubt = Doubt(DoubtKind.FORGOTTEN, damaged.path.name, damaged.why)
        return judge(directory, plan, [doubt], Figures())
    left = left_by_run(found)
    return judge(directory, plan, left.doubts, left.figures, more=left.verdicts)


@dataclass(frozen=True, slots=True)
class LeftByRun:
    """What the history of a run does not say, and only the run itself could tell."""

    doubts: tuple[Doubt, ...]
    figures: Figures
    verdicts: tuple[Verdict, ...] = ()
    """Of the simulator's invariants."""


def left_by_run(results: RunResults | None) -> LeftByRun:
    """From the run's last results; None if it came to no end."""
    if results is None:
        detail = "the cluster was not healed, and nothing was read back"
        return LeftByRun((Doubt(DoubtKind.NO_END, detail=detail),), Figures())
    return LeftByRun(
        tuple(each for each in results.doubts if each.kind not in _OF_HISTORY),
        results.figures,
        tuple(each for each in results.verdicts if each.checker == BY_INVARIANTS),
    )


def _nemesis_rows(history: History) -> list[Op]:
    rows = np.flatnonzero(np.asarray(history.ops["process"]) == NEMESIS)
    return [history.op(index) for index in np.asarray(history.ops["index"])[rows].tolist()]


def _survived(directory: Path, plan: Plan, history: History) -> Figures:
    """Figures about survived faults; empty on a failure, because no verdict uses them."""
    nodes, nemesis = tuple(racks_of(plan)), _nemesis_rows(history)
    written_ns = np.asarray(history.ops["time"])[_are_writes(history)]
    try:
        calls = Calls(history)
        groups = groups_seen(calls, plan.concurrency)
        end_ns = calls.end_of_all_ns
        states = count_states(directory, end_ns, groups, transactions_seen(calls))
        figures = Figures(states=states)
        struck = bands(nemesis, nodes, end_ns)
        figures["served_again"] = served_again(calls, struck, plan.concurrency)
        found = survived(directory, nemesis, written_ns, nodes, end_ns)
        if found:
            figures["survived"] = found
        return figures
    except Exception as failure:
        _LOG.warning("the survived faults could not be summarized: %r; the verdict stands", failure)
        return Figures()


def _too_few(went_well: int) -> list[Doubt]:
    if went_well >= WRITES_MIN:
        return []
    return [Doubt(DoubtKind.TOO_FEW_WRITES, detail=f"{went_well} of at least {WRITES_MIN}")]


def anomaly_so_far(directory: Path, plan: Plan) -> str | None:
    """Sentence about an anomaly that no later operation can explain, or None."""
    try:
        history = History.load(directory)
    except HistoryError:
        return None
    names = [name for name in workload_of(plan).checkers if all_checkers()[name].stands]
    for verdict in check(history, contract_of(plan), names):
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

    def are(writes: Writes) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = np.asarray(pc.is_in(f, value_set=pa.array(named(writes))))
        return is_ok & found

    is_write, is_list = are(Writes.ALWAYS), are(Writes.BY_MICRO_OPS)
    if not is_list.any():
        return is_write
    is_append = pc.is_in(history.elements["kind"], value_set=pa.array(WRITING_KINDS, pa.int8()))
    appends = np.zeros(len(is_ok), dtype=bool)
    appends[np.asarray(pc.unique(history.elements["op"].filter(is_append)))] = True
    return is_write | (is_list & appends)


def contract_of(plan: Plan) -> Contract:
    return Contract(
        acks=plan.acks,
        idempotence=plan.enable_idempotence,
        retries=plan.retries,
        isolation_level=plan.isolation_level,
        transactions=plan.transactions,
        unclean_leader_election=plan.is_unclean,
        min_insync_replicas=plan.min_insync_replicas,
        replication_factor=plan.replication_factor,
        flush="every-record" if REGISTRY.systems[plan.system].flushes else "os",
        faults=plan.faults,
        retention=deletes(plan) is not None,
        unsafe_faults=plan.unsafe_faults,
        timestamp_type=timestamp_type(plan),
        one_clock=plan.on in _ONE_MACHINE,
        judged_by="configured" if plan.contract == "configured" else "safe",
    )


def summary(outcome: Outcome) -> list[str]:
    """The verdict, the first anomalies with what they break, and how to have it all again."""
    return sentences.summary(outcome.results(), outcome.directory)
