"""Was the test any good? What struck, what went on meanwhile, and what was never reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.history.schema import FAIL, INFO
from harness.store.results import FaultFigures, RunResults, SurvivedFigures
from reports import sentences
from reports.calls import RECORD, Calls
from reports.faults import Band, stroke_of
from reports.leading import Leading
from reports.measures import (
    Reading,
    acknowledged,
    during,
    latency_ms,
    longest_silence_s,
    writes_under_faults,
)
from reports.protocol_states import Seen, counted, never_reached
from reports.recovery import recoveries
from reports.served import ServedTable, served_table
from reports.skew import hot_partitions, skew_sentence
from reports.traced import Trace
from reports.traffic import TrafficTable, traffic_table
from reports.transactions_seen import transactions_seen


@dataclass(frozen=True, slots=True)
class Quality:
    figures: tuple[tuple[str, str], ...]
    doubts: tuple[str, ...]
    never_reached: tuple[str, ...]
    partitions: tuple[tuple[str, int, float, bool], ...]
    """Key, acknowledged, share of the largest in percent, and whether it is hot."""
    skew: str | None
    """The hot ones in a sentence."""
    faults: tuple[tuple[str, str, str, str], ...]
    """Name, when, how long a partition acknowledged nothing, and its proof or why there is none."""
    latency: tuple[tuple[str, int, float, float, float], ...]
    traffic: TrafficTable | None
    served: ServedTable | None


def quality(
    results: RunResults,
    calls: Calls,
    bands: Sequence[Band],
    read: Reading,
    trace: Trace | None,
    leading: Leading | None,
) -> Quality:
    faults = results.figures.get("faults", [])
    struck = during(calls, bands)
    acked = acknowledged(calls)
    survived = results.figures.get("survived")
    in_fault = writes_under_faults(calls, bands, survived)
    sent = sum(each.sent for each in read.partitions)
    read_back = sum(each.read for each in read.partitions)
    figures = []
    if faults:
        held = sum("proof" in each for each in faults)
        figures.append(("faults that took hold", f"{held:,} of {len(faults):,}"))
    if leading is not None:
        figures.append(("changes of leader", _elections(leading, survived)))
        figures.append(("active controllers", f"{len(leading.controllers):,}"))
        if leading.unread:
            figures.append(("invalid lines of cluster.jsonl", f"{leading.unread:,}"))
    figures.append(("writes during a fault", f"{in_fault:,} of {int(np.sum(acked)):,}"))
    if sent:
        figures.append(("acknowledged records read back", f"{100 * read_back / sent:.2f} %"))
    transactions = transactions_seen(calls)
    if transactions is not None:
        figures.append(("transactions", transactions.sentence))
        spoken = " and ".join(map(str, transactions.protocols))
        figures.append(("transaction protocol", spoken or "unknown"))
    silence = longest_silence_s(calls)
    if silence is not None:
        figures.append(("longest time without an acknowledgement", f"{silence:.2f} s"))
    return Quality(
        figures=tuple(figures),
        doubts=tuple(sentences.doubts(results)),
        never_reached=tuple(_never_reached(calls, struck, in_fault, bands, trace, leading)),
        partitions=_load(read),
        skew=skew_sentence(_counts(read)),
        faults=_faults(faults, calls, bands),
        latency=tuple((name, *row) for name, row in latency_ms(calls).items()),
        traffic=traffic_table(results.figures.get("traffic", {})),
        served=served_table(results.figures.get("served_again", [])),
    )


def _elections(leading: Leading, survived: SurvivedFigures | None) -> str:
    """Leaders also change when they are moved at the end, which is no election under faults."""
    under_faults = None if survived is None else survived.get("elections")
    said = f"{leading.elections:,}"
    return said if under_faults is None else f"{said}, {under_faults:,} of them under faults"


def _never_reached(
    calls: Calls,
    struck: Any,
    in_fault: int,
    bands: Sequence[Band],
    trace: Trace | None,
    leading: Leading | None,
) -> list[str]:
    """States that a run of this kind can reach; a green run that saw none of them proves little."""
    elements = calls.elements
    has_read = np.zeros(len(calls.rows.index), np.bool_)
    has_read[elements.row[elements.kind == RECORD]] = True
    of_fault = calls.of_row[has_read]
    states = {
        "a fault": bool(bands),
        "an operation that certainly failed": bool(np.any(calls.type == FAIL)),
        "an operation with an unknown outcome": bool(np.any(calls.type == INFO)),
    }
    if bands:
        states["an acknowledgement during a fault"] = in_fault > 0
        states["a record read during a fault"] = bool(np.any(struck[of_fault[of_fault >= 0]]))
        kinds = {each.kind for each in bands}
        states["two kinds of faults at once"] = len(kinds) < 2 or _overlap(bands)
    seen = Seen(leading, trace, transactions=transactions_seen(calls))
    of_load = [state for state, was_reached in states.items() if not was_reached]
    return [*of_load, *never_reached(counted(seen))]


def _overlap(bands: Sequence[Band]) -> bool:
    return any(
        one.begin_ns < other.end_ns and other.begin_ns < one.end_ns
        for number, one in enumerate(bands)
        for other in bands[number + 1 :]
        if one.kind != other.kind
    )


def _load(read: Reading) -> tuple[tuple[str, int, float, bool], ...]:
    most = max((each.sent for each in read.partitions), default=0) or 1
    hot = {each.key for each in hot_partitions(_counts(read))}
    return tuple(
        (
            str(each.key),
            each.sent,
            round(100 * each.sent / most, 1),
            str(each.key) in hot,
        )
        for each in sorted(read.partitions, key=lambda each: str(each.key))
    )


def _counts(read: Reading) -> dict[str, int]:
    return {str(each.key): each.sent for each in read.partitions}


def _faults(
    faults: Sequence[FaultFigures], calls: Calls, bands: Sequence[Band]
) -> tuple[tuple[str, str, str, str], ...]:
    waits = dict(zip((each.name for each in bands), recoveries(calls, bands), strict=True))
    return tuple(_fault(told, waits.get(stroke_of(told["fault"]))) for told in faults)


def _fault(told: FaultFigures, waited_s: float | None) -> tuple[str, str, str, str]:
    times = (told.get("began_ms"), told.get("took_hold_ms"), told.get("healed_ms"))
    began, held, healed = (None if each is None else float(each) / 1000 for each in times)
    when = "" if began is None else f"{began:.1f} s"
    if began is not None and held is not None:
        when += f", took hold in {held - began:.2f} s"
    if healed is not None:
        when += f", healed at {healed:.1f} s"
    waited = "" if waited_s is None or "proof" not in told else f"{waited_s:.2f} s"
    said = ""
    if "proof" in told:
        said = told["proof"]
    elif "missed" in told:
        said = f"did not take hold: {told['missed']}"
    elif "skipped" in told:
        said = f"nothing to strike: {told['skipped']}"
    return told["fault"], when, waited, said
