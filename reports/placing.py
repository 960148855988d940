"""Where in a run a finding belongs: the change of leader that lost its records, and the fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from checkers.verdict import AT_S, Anomaly
from harness.store.stored_run import read_began
from reports.causes import LOSSES, Cause, Placed, Records, causes, records_of
from reports.faults import Band
from reports.leading import Change
from reports.losses import LostRecords, change_of, lost_records
from reports.material import Material


@dataclass(frozen=True, slots=True)
class Found:
    """The anomalies of a run, each with its place, and their causes."""

    placed: Sequence[Placed]
    causes: Sequence[Cause]
    """The largest loss first, but those of one fault together."""


def placed_causes(material: Material) -> Found:
    anomalies = material.results.anomalies
    lost = _Lost(material, _unseen(anomalies))
    placed = [_placed(material, anomaly, lost) for anomaly in anomalies]
    lossy = dict.fromkeys(
        records.key
        for each in anomalies
        if each.type in LOSSES and (records := records_of(each)) is not None
    )
    keys = () if material.calls is None else lossy
    losses = [loss for key in keys for loss in lost.of(key).by_change()]
    return Found(placed, _by_fault(causes(placed, material.results.counts(), losses)))


def _by_fault(found: Sequence[Cause]) -> list[Cause]:
    """In their order, but those of one fault together."""
    names = ["" if each.fault is None else each.fault.name for each in found]
    first = {name: at for at, name in reversed(list(enumerate(names)))}
    order = sorted(range(len(found)), key=lambda at: first[names[at]])
    return [found[at] for at in order]


@dataclass(slots=True)
class _Lost:
    """Of each partition what it lost, looked up once."""

    material: Material
    unseen: Mapping[str, int]
    known: dict[str, LostRecords] = field(default_factory=dict)

    def changes(self, key: str) -> Sequence[Change]:
        return () if self.material.leading is None else self.material.leading.changes(key)

    def of(self, key: str) -> LostRecords:
        if key not in self.known:
            assert self.material.calls is not None
            self.known[key] = lost_records(
                self.material.calls, key, self.changes(key), self.material.bands,
                self.unseen.get(key, -1),
            )  # fmt: skip
        return self.known[key]

    def change_of(self, records: Records, at_ns: int) -> Change | None:
        """`at_ns`: when the first operation of the finding ended."""
        own = self.of(records.key).change_of(records.low, records.high, at_ns)
        return own or change_of(self.changes(records.key), self.material.bands, at_ns)


def _unseen(anomalies: Iterable[Anomaly]) -> dict[str, int]:
    """By partition, how many acknowledged records were never polled, where a checker counted."""
    found: dict[str, int] = {}
    for anomaly in anomalies:
        records, count = records_of(anomaly), anomaly.witness.get("unseen")
        if records is not None and type(count) is int:
            found[records.key] = count
    return found


def _placed(material: Material, anomaly: Anomaly, lost: _Lost) -> Placed:
    records, at_ns = records_of(anomaly), moment(material, anomaly)
    if at_ns is None:
        return Placed(anomaly)
    change = None
    # What names no offset and says of no record that it is gone belongs to no change of leader.
    if records is not None and (records.low >= 0 or anomaly.type in LOSSES):
        change = lost.change_of(records, at_ns)
    return Placed(anomaly, at_ns, change, fault_behind(material.bands, at_ns, change))


def moment(material: Material, anomaly: Anomaly) -> int | None:
    """When the first operation of the finding ended, in ns of the history."""
    calls = material.calls
    if calls is None:
        return None
    rows = [row for index in anomaly.ops if (row := calls.row_of(index)) is not None]
    if rows:
        return min(int(calls.rows.time_ns[row]) for row in rows)
    at_s = anomaly.witness.get(AT_S)
    began = read_began(material.directory)
    if not isinstance(at_s, int | float) or began is None:
        return None
    return max(0, int(at_s * 1e9) - began.stage_ns)


def fault_behind(bands: Sequence[Band], since_ns: int, change: Change | None) -> Band | None:
    """The fault that made the change of leader, or that was in force when it was acknowledged.

    One that struck the leader goes before others, then the last one that began.
    """
    if change is None:
        found = [each for each in bands if each.begin_ns <= since_ns <= each.end_ns]
        return max(found, key=lambda each: each.begin_ns, default=None)
    leader, time_ns = change.before.node, change.time_ns
    from_ns = min(since_ns, time_ns)
    found = [each for each in bands if each.begin_ns <= time_ns and each.end_ns >= from_ns]
    return max(found, key=lambda each: (each.strikes(leader), each.begin_ns), default=None)
