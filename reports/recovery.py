"""How long each fault kept clients waiting: by partition, because others may go on meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    found: list[float | None] = [None for _ in bands]
    for begins, ends in _gaps(calls) if bands else ():
        for number, band in enumerate(bands):
            # Both are in order, so those around the fault lie side by side.
            first = int(np.searchsorted(ends, band.begin_ns, side="right"))
            last = int(np.searchsorted(begins, band.end_ns, side="left"))
            if first < last:
                most = int(np.max(ends[first:last] - begins[first:last])) / 1e9
                found[number] = max(most, found[number] or 0.0)
    return found


def by_kind(
    bands: Sequence[Band], found: Sequence[float | None]
) -> dict[str, tuple[float, float, int]]:
    """For each kind of fault: median and longest in seconds, and of how many faults."""
    kinds: dict[str, list[float]] = {}
    for band, longest in zip(bands, found, strict=True):
        if longest is not None and band.has_taken_hold:
            kinds.setdefault(band.kind, []).append(longest)
    return {kind: (median(own), max(own), len(own)) for kind, own in sorted(kinds.items())}


def _gaps(calls: Calls) -> Iterator[tuple[Ints, Ints]]:
    """Of each partition, or of all together where offsets are not known: from when to when."""
    everything = np.sort(calls.end_ns[acknowledged(calls)])
    if not len(everything):
        return
    elements = calls.elements
    is_ack = (elements.kind == SENT[0]) | (elements.kind == SENT[1])
    is_ack &= calls.rows.type[elements.row] == OK
    rows, keys = elements.row[is_ack], elements.key[is_ack]
    # A load begins and ends with its first and last acknowledgement; what is before and after is
    # no silence.
    first, last = everything[:1], everything[-1:]
    for key in np.unique(keys).tolist() or [None]:
        own = everything if key is None else calls.rows.time_ns[rows[keys == key]]
        whole = np.concatenate([first, own, last])
        yield whole[:-1], whole[1:]
