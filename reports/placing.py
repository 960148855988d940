"""Where in a run a finding belongs: the change of leader that lost its records, and the fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checkers.verdict import AT_S, Anomaly
from harness.history.schema import OK
from harness.store.stored_run import read_began
from reports.calls import SENT, Calls, Ints
from reports.causes import Placed, records_of
from reports.faults import Band
from reports.leading import Change
from reports.material import Material


def all_placed(material: Material) -> list[Placed]:
    """Every anomaly of the run, in order."""
    known: dict[str, Acknowledgements] = {}
    return [_placed(material, anomaly, known) for anomaly in material.results.anomalies]


def _placed(material: Material, anomaly: Anomaly, known: dict[str, Acknowledgements]) -> Placed:
    """`known` keeps the acknowledgements of partitions that were looked up before."""
    records, calls = records_of(anomaly), material.calls
    at_ns = moment(material, anomaly)
    since_ns, replaced_ns = at_ns, None
    if calls is not None and records is not None and records.low >= 0:
        if records.key not in known:
            known[records.key] = acknowledgements(calls, records.key)
        acked = known[records.key]
        since_ns = acked.first_ns(records.low, records.high) or since_ns
        replaced_ns = None if since_ns is None else acked.replaced_ns(since_ns)
    if since_ns is None:
        return Placed(anomaly, at_ns)
    change = None
    if records is not None and material.leading is not None:
        change = change_of(material.leading.changes(records.key), since_ns, replaced_ns)
    return Placed(anomaly, at_ns, change, fault_behind(material.bands, since_ns, change))


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


def change_of(
    changes: Sequence[Change], since_ns: int, replaced_ns: int | None = None
) -> Change | None:
    """The change of leader that may have lost what was acknowledged at `since_ns`.

    It is the next one, unless the successor was seen to append in its place before that: a leader
    that is cut off goes on acknowledging until it learns of its successor, so that what it
    acknowledges after the change is lost by the change, too. The same holds after the last one.
    """
    if replaced_ns is not None:
        changes = [each for each in changes if each.time_ns <= replaced_ns]
    later = [each for each in changes if each.time_ns >= since_ns]
    return later[0] if later else changes[-1] if changes else None


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


@dataclass(frozen=True, slots=True)
class Acknowledgements:
    """Of one partition: which offsets were acknowledged, and when, in the order of time."""

    offset: Ints
    time_ns: Ints

    def first_ns(self, low: int, high: int) -> int | None:
        """When the first of these offsets was acknowledged."""
        own = self.time_ns[(self.offset >= low) & (self.offset <= high)]
        return int(own[0]) if len(own) else None

    def replaced_ns(self, since_ns: int) -> int | None:
        """When an offset was first acknowledged a second time, after this time."""
        _, first = np.unique(self.offset, return_index=True)
        again = np.delete(self.time_ns, first)
        later = again[again > since_ns]
        return int(later[0]) if len(later) else None


def acknowledgements(calls: Calls, key: str) -> Acknowledgements:
    keys = [str(each) for each in calls.history.keys]
    elements = calls.elements
    number = keys.index(key) if key in keys else -2
    # Step by step: a run may have many millions of elements, and a partition few of them.
    own = np.flatnonzero(elements.key == number)
    own = own[np.isin(elements.kind[own], SENT)]
    own = own[calls.rows.type[elements.row[own]] == OK]
    return Acknowledgements(
        elements.offset[own].astype(np.int64), calls.rows.time_ns[elements.row[own]]
    )
