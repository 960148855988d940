"""How soon each client was served again when a fault ended, while all clients came back at once.

A client is served when an operation is `ok` that only a broker can answer: a write, a read of a
whole log, a question. Polls do not count, because a client may answer them from what it fetched
before. The time runs from the end of the fault, or from the client's next invocation if it had
nothing under way then: a client that asks nothing does not wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from harness.history.op import BACKGROUND, BACKGROUND_AT_ONCE
from harness.history.operations import OPERATIONS
from harness.history.schema import OK
from harness.store.results import ServedFigures
from reports.calls import Calls, Ints
from reports.faults import Band

_ANSWERED = frozenset(name for name, each in OPERATIONS.items() if each.is_answered)
_DOTS_WIDTH = 240.0


def served_again(calls: Calls, bands: Sequence[Band], clients: int) -> list[ServedFigures]:
    """For each fault that took hold, by client: seconds until it was served; None for never.

    A rolling restart counts for each node that came back. A client that asked nothing afterwards is
    left out. `clients` is how many there are: a process with an unknown outcome is replaced by the
    one with that number more.
    """
    answered = [code for code, name in enumerate(calls.rows.names) if name in _ANSWERED]
    asked = np.flatnonzero(np.isin(calls.f, answered))
    processes = calls.process[asked]
    # A commit in the background is the client's own, whatever the number of its process.
    foreground = np.where(
        processes < BACKGROUND, processes, (processes - BACKGROUND) // BACKGROUND_AT_ONCE
    )
    number = foreground % clients
    of_client = [asked[number == client] for client in range(clients)]
    found: list[ServedFigures] = []
    for end_ns, fault, label in sorted(_ends(bands)):
        waits: dict[str, float | None] = {}
        for client, own in enumerate(of_client):
            first = int(np.searchsorted(calls.end_ns[own], end_ns))
            if first < len(own):
                waits[f"c{client + 1}"] = _wait_s(calls, own[first:], end_ns)
        if waits:
            ended_ms = round(end_ns / 1e6, 3)
            found.append({"fault": fault, "label": label, "ended_ms": ended_ms, "clients": waits})
    return found


def _ends(bands: Sequence[Band]) -> Iterator[tuple[int, str, str]]:
    """Moment, name and label of whatever ended."""
    for band in bands:
        if not band.has_taken_hold:
            continue
        if not band.backs:
            yield band.end_ns, band.name, band.label
        for time_ns, node in band.backs:
            yield time_ns, band.name, f"{band.kind} {node}"


def _wait_s(calls: Calls, own: Ints, end_ns: int) -> float | None:
    served = np.flatnonzero(calls.type[own] == OK)
    if not len(served):
        return None
    since_ns = max(end_ns, int(calls.begin_ns[own[0]]))
    return round((int(calls.end_ns[own[served[0]]]) - since_ns) / 1e9, 6)


@dataclass(frozen=True, slots=True)
class ServedRow:
    label: str
    ended: str
    median: str
    longest: str
    """With the client that waited so long."""
    never: str
    """Clients that were not served before the end of the run."""
    dots: tuple[tuple[float, str], ...]
    """Where each client lies on a line from 0 to the longest time of all faults, with its title."""


@dataclass(frozen=True, slots=True)
class ServedTable:
    sentence: str
    rows: tuple[ServedRow, ...]
    width: float
    axis: str
    """Time at the right end of the dots."""


def served_table(figures: Sequence[ServedFigures]) -> ServedTable | None:
    """None where no fault ended under load."""
    said = served_sentence(figures)
    if said is None:
        return None
    longest = max((wait for each in figures for wait in _waits(each).values()), default=0.0)
    rows = tuple(_row(each, longest or 1.0) for each in figures)
    return ServedTable(said, rows, _DOTS_WIDTH, f"{longest:.2f} s")


def served_sentence(figures: Sequence[ServedFigures]) -> str | None:
    """All faults together, in one sentence."""
    every = [wait for each in figures for wait in _waits(each).values()]
    never = sum(wait is None for each in figures for wait in each["clients"].values())
    if not every and not never:
        return None
    said = []
    if every:
        said.append(
            f"every client was served within {max(every):.2f} s, half of them within "
            f"{median(every):.2f} s"
        )
    if never:
        said.append(f"{never:,} time{'s' * (never != 1)} a client was never served again")
    count = f"{len(figures):,} faults" if len(figures) > 1 else "the fault"
    return f"after {count} {'; '.join(said)}"


def _waits(each: ServedFigures) -> dict[str, float]:
    return {client: wait for client, wait in each["clients"].items() if wait is not None}


def _row(each: ServedFigures, longest_s: float) -> ServedRow:
    waits = _waits(each)
    last = max(waits, key=lambda client: waits[client], default=None)
    return ServedRow(
        label=each["label"],
        ended=f"{each['ended_ms'] / 1000:.1f} s",
        median=f"{median(waits.values()):.2f} s" if waits else "",
        longest=f"{waits[last]:.2f} s ({last})" if last is not None else "",
        never=", ".join(client for client, wait in each["clients"].items() if wait is None),
        dots=tuple(
            (round(wait / longest_s * _DOTS_WIDTH, 1), f"{client}: {wait:.3f} s")
            for client, wait in waits.items()
        ),
    )
