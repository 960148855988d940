"""The results of a run as typed values, and their form in results.json (schema 3).

docs/reference/results.schema.json describes the file. Runs that were stored by earlier versions are
brought to these values by older_results.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from checkers.contract import Promise
from checkers.verdict import Anomaly, Validity, Verdict, json_validity
from harness.doubts import Doubt, DoubtKind, sentence_of

SCHEMA = 3


class FaultFigures(TypedDict):
    """What became of one fault, as nemesis/outcomes.py notes it."""

    nemesis: str
    fault: str
    kind: NotRequired[str]
    proof: NotRequired[str]
    missed: NotRequired[str]
    skipped: NotRequired[str]
    not_healed: NotRequired[str]
    lapsed: NotRequired[str]
    began_ms: NotRequired[float | None]
    took_hold_ms: NotRequired[float | None]
    healed_ms: NotRequired[float | None]


class SurvivedFigures(TypedDict):
    """What went on while faults were in force."""

    faults: dict[str, int]
    writes: int
    elections: NotRequired[int | None]
    leaders_cut_off: NotRequired[int]


class ServedFigures(TypedDict):
    """How soon clients were served again when a fault ended (reports/served.py)."""

    fault: str
    label: str
    ended_ms: float
    """Time of the history at which its healing was confirmed."""
    clients: dict[str, float | None]
    """Seconds by client; None: never before the end of the run."""


class BatchRecords(TypedDict):
    """Records in the batches of a client."""

    mean: float
    p50: int
    p99: int
    most: int


class TrafficFigures(TypedDict):
    """What one client's producer had on the wire (harness/client/traffic.py)."""

    linger_ms: int
    batch_bytes: int
    codec: str
    requests_in_flight_max: int
    batches_in_flight_max: int
    records_in_flight_max: int
    batches: int
    records: int
    batch_records: BatchRecords
    batch_bytes_mean: float
    batch_bytes_max: int
    sampled: bool
    """Whether the maxima are of samples and the percentiles estimates."""


class PartitionFigures(TypedDict):
    acknowledged: int
    share: float
    """Of the records of its topic."""


class HistoryTopicFigures(TypedDict):
    """Counts of the rows that --history-topic publishes."""

    topic: str
    rows: int
    not_published: int
    why: str | None
    """The first reason why a row was not published, or None."""


class Figures(TypedDict, total=False):
    """Counts of a run. A run that came to no end has none."""

    ok: int
    fail: int
    info: int
    acknowledged: int
    read: int
    client_deaths: int
    partitions: dict[str, PartitionFigures]
    """By key."""
    traffic: dict[str, TrafficFigures]
    """By client."""
    faults: list[FaultFigures]
    served_again: list[ServedFigures]
    """For each fault that took hold."""
    survived: SurvivedFigures | None
    states: dict[str, int | None]
    """States of the protocol by name (reports/protocol_states.py); None: not shown by the place."""
    calm: dict[str, Any]
    """The cluster after the last fault, as harness/run/aftermath.py describes it."""
    history_topic: HistoryTopicFigures
    crash: dict[str, Any]
    """The exception that ended the run."""


class CauseFigures(TypedDict):
    """Findings of one cause, as reports/causes.py groups them."""

    sentence: str
    """What happened, as on the terminal and on the page."""
    types: list[str]
    findings: int
    partition: str | None
    lost: int
    """Acknowledged records that are gone."""
    lost_is_all: bool
    """Whether `lost` counts all of them; otherwise there may be more."""
    elected_ms: float | None
    """When the leader was elected that does not have them."""
    fault: str | None
    """The name of the fault behind it."""


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A checker that was not asked, because the run lacks what its findings need."""

    checker: str
    need: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    run: str
    command: str
    """What to type to have the run again."""
    validity: Validity
    verdicts: tuple[Verdict, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    consistency: str = ""
    """The consistency that the run has passed; empty unless it is valid."""
    not_judged: tuple[NotJudged, ...] = ()
    figures: Figures = field(default_factory=Figures)
    causes: tuple[CauseFigures, ...] = ()
    """Of the anomalies; empty if there are none, or if the run was judged by an older version."""

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """Those that the contract forbids."""
        return tuple(each for verdict in self.verdicts for each in verdict.anomalies)

    def counts(self) -> dict[str, int]:
        """By type, how many forbidden anomalies there are; only the first few are kept."""
        return {
            type_: verdict.count_of(type_)
            for verdict in self.verdicts
            for type_ in dict.fromkeys(each.type for each in verdict.anomalies)
        }


def to_json(results: RunResults) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run": results.run,
        "command": results.command,
        "valid": json_validity(results.validity),
        "doubts": [
            {
                "kind": doubt.kind.value,
                "subject": doubt.subject,
                "detail": doubt.detail,
                "sentence": sentence_of(doubt),
            }
            for doubt in results.doubts
        ],
        "consistency": results.consistency,
        "not-judged": [{"checker": each.checker, "need": each.need} for each in results.not_judged],
        "figures": dict(results.figures),
        "causes": [dict(each) for each in results.causes],
        "checks": [
            {"checker": verdict.checker, "model": verdict.model, **verdict.as_json()}
            for verdict in results.verdicts
        ],
    }


def from_json(found: Mapping[str, Any]) -> RunResults:
    """Of a file of this schema whose form was checked."""
    return RunResults(
        run=found["run"],
        command=found["command"],
        validity=_validity(found["valid"]),
        verdicts=tuple(_verdict(check) for check in found["checks"]),
        doubts=tuple(
            Doubt(DoubtKind(each["kind"]), each["subject"], each["detail"])
            for each in found["doubts"]
        ),
        consistency=found["consistency"],
        not_judged=tuple(NotJudged(each["checker"], each["need"]) for each in found["not-judged"]),
        figures=found["figures"],
        causes=tuple(found.get("causes", ())),
    )


def _validity(valid: bool | str) -> Validity:
    if valid is True:
        return Validity.VALID
    return Validity.INVALID if valid is False else Validity.UNKNOWN


def _verdict(check: Mapping[str, Any]) -> Verdict:
    stats = dict(check["stats"])
    why = stats.pop("why", "")
    return Verdict(
        checker=check["checker"],
        model=check["model"],
        validity=_validity(check["valid"]),
        found=tuple(
            Anomaly(
                type=type_,
                ops=tuple(each["ops"]),
                because=each["because"],
                promise=Promise(each["promise"]),
                row=each["row"],
                contract=each["contract"],
                witness=each["witness"],
            )
            for type_, anomalies in check["anomalies"].items()
            for each in anomalies
        ),
        why=why,
        ruled_out=tuple(check["not"]),
        stats=stats,
    )
