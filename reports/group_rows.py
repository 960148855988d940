"""The rows of a history that say who was in which group and owned what; few of many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from harness.history.op import BACKGROUND, NEMESIS, Op, foreground_process
from harness.history.schema import FAIL, INFO, INVOKE, OK
from reports.calls import Calls
from reports.lean_history import ops_in
from reports.ownership import REFUSALS, Replaced

_CHANGES = ("subscribe", "leave", "assigned", "revoked", "lost")


def group_rows(calls: Calls) -> Iterator[Op]:
    """In the order of the history; none if nobody was a member of a group.

    Of the commits only those that were refused, and the first of each membership, which names the
    member's id. A long run has too many to read them all.
    """
    rows = calls.rows
    codes = {name: code for code, name in enumerate(rows.names)}
    is_change = np.isin(rows.f, [codes[name] for name in _CHANGES if name in codes])
    if not np.any(is_change):
        return iter(())
    wanted = is_change & (rows.type == OK)
    wanted |= rows.process == NEMESIS
    wanted |= (rows.type == INFO) & (rows.process < BACKGROUND)
    commits = rows.f == codes.get("commit", -1)
    failed = np.flatnonzero(commits & (rows.type == FAIL))
    errors = calls.history.ops["error"].take(failed).to_pylist()
    for row, error in zip(failed.tolist(), errors, strict=True):
        wanted[row] |= (error or "").partition(":")[0] in REFUSALS
    begun = commits & (rows.type == INVOKE)
    unnamed: set[int] = set()
    for row in np.flatnonzero(wanted | begun).tolist():
        process = foreground_process(int(rows.process[row]))
        if begun[row]:
            wanted[row] = process in unnamed
            unnamed.discard(process)
        elif rows.f[row] == codes.get("subscribe"):
            unnamed.add(process)
    return ops_in(calls.history, np.flatnonzero(wanted).tolist())


def replacements(calls: Calls, clients: int) -> dict[int, Replaced]:
    """The processes whose clients went on as other processes."""
    rows = calls.rows
    own = np.flatnonzero((rows.process >= 0) & (rows.process < BACKGROUND))
    processes, times = rows.process[own].tolist(), rows.time_ns[own].tolist()
    last = dict(zip(processes, times, strict=True))
    first = dict(zip(reversed(processes), reversed(times), strict=True))
    of_client: dict[int, list[int]] = {}
    for process in sorted(last) if clients else ():
        of_client.setdefault(process % clients, []).append(process)
    return {
        process: Replaced(last[process], first[successor])
        for own_processes in of_client.values()
        for process, successor in pairwise(own_processes)
    }
