"""How long each fault kept clients waiting: by partition, because others may go on meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from harness.history.schema import OK
from reports.calls import SENT, Calls, Ints
from reports.faults import Band
from reports.measures import acknowledged


def recoveries(calls: Calls, bands: Sequence[Band]) -> list[float | None]:
    """For each fault the longest time around it in which some partition acknowledged no write.

    The time counts whole, also what lies before the fault or after its healing: a partition has
    recovered when it acknowledges again. None where nothing was acknowledged at all.
    """
    gaps = _gaps(calls)
    found: list[float | None] = []
    for band in bands:
        most = [
            int(np.max((ends - begins)[near]))
            for begins, ends in gaps
            if np.any(near := (ends > band.begin_ns) & (begins < band.end_ns))
        ]
        found.append(max(most) / 1e9 if most else None)
    return found


def by_kind(bands: Sequence[Band], found: Sequence[float | None]) -> dict[str, str]:
    """For each kind of fault, as a sentence."""
    kinds: dict[str, list[float]] = {}
    for band, longest in zip(bands, found, strict=True):
        if longest is not None and band.has_taken_hold:
            kinds.setdefault(band.label.partition(" ")[0], []).append(longest)
    return {
        kind: f"median {median(own):.2f} s, longest {max(own):.2f} s, of {len(own)}"
        for kind, own in sorted(kinds.items())
    }


def _gaps(calls: Calls) -> list[tuple[Ints, Ints]]:
    """Of each partition, or of all together where offsets are not known: from when to when."""
    everything = np.sort(calls.end_ns[acknowledged(calls)])
    if not len(everything):
        return []
    elements = calls.elements
    is_ack = np.isin(elements.kind, SENT) & (calls.rows.type[elements.row] == OK)
    rows, keys = elements.row[is_ack], elements.key[is_ack]
    times = [calls.rows.time_ns[rows[keys == key]] for key in np.unique(keys)] or [everything]
    # A load begins and ends with its first and last acknowledgement; what is before and after is
    # no silence.
    edges = everything[:1], everything[-1:]
    whole = [np.sort(np.concatenate([edges[0], own, edges[1]])) for own in times]
    return [(own[:-1], own[1:]) for own in whole]
