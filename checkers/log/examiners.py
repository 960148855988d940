"""Every checker of logs, by the name of what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from checkers.contract import Contract
from checkers.findings import SHOWN, Findings
from checkers.log.aborted_read import aborted_reads
from checkers.log.compaction import compaction_lost_keys, compaction_resurrected_keys
from checkers.log.contents import duplicates, inconsistent_offsets
from checkers.log.cycles import cycles
from checkers.log.exactly_once import exactly_once
from checkers.log.facts import LogFacts
from checkers.log.foreign import phantom_reads, precommitted_reads
from checkers.log.gaps import unfilled_offsets
from checkers.log.groups import commit_regressions, lost_commits, two_owners, zombie_commits
from checkers.log.jumps import (
    int_nonmonotonic_polls,
    int_nonmonotonic_sends,
    int_poll_skips,
    int_send_skips,
    nonmonotonic_polls,
    nonmonotonic_sends,
    poll_skips,
    producer_orders,
)
from checkers.log.lag import stale_reads
from checkers.log.linear import nonlinearizable_logs, watermark_regressions
from checkers.log.lost_write import lost_writes
from checkers.log.transactions import hanging_transactions
from checkers.log.unread import torn_transactions, unseen

EXAMINERS: dict[str, Callable[[LogFacts], Findings]] = {
    "lost-write": lost_writes,
    "duplicate": duplicates,
    "inconsistent-offsets": inconsistent_offsets,
    "G1a": aborted_reads,
    "nonmonotonic-poll": nonmonotonic_polls,
    "poll-skip": poll_skips,
    "int-poll-skip": int_poll_skips,
    "int-nonmonotonic-poll": int_nonmonotonic_polls,
    "nonmonotonic-send": nonmonotonic_sends,
    "int-send-skip": int_send_skips,
    "int-nonmonotonic-send": int_nonmonotonic_sends,
    "producer-order": producer_orders,
    "G1c": cycles,
    "unseen": unseen,
    "torn-transaction": torn_transactions,
    "phantom-read": phantom_reads,
    "precommitted-read": precommitted_reads,
    "nonlinearizable-log": nonlinearizable_logs,
    "stale-read": stale_reads,
    "watermark-regression": watermark_regressions,
    "hanging-transaction": hanging_transactions,
    "commit-regression": commit_regressions,
    "lost-commit": lost_commits,
    "zombie-commit": zombie_commits,
    "two-owners": two_owners,
    "exactly-once": exactly_once,
    "compaction-lost-key": compaction_lost_keys,
    "compaction-resurrected-key": compaction_resurrected_keys,
}


def examiner(name: str, contract: Contract) -> Callable[[LogFacts], Findings]:
    """With what the contract says of how a history is to be read."""
    if name == "G1c":
        return partial(cycles, ww_deps=contract.ww_deps, exact_polls=contract.exact_polls)
    if name == "stale-read":
        return partial(stale_reads, bound_ms=contract.stale_bound_ms)
    if name == "watermark-regression":
        return partial(watermark_regressions, exact_ends=contract.exact_ends)
    if name == "nonlinearizable-log":
        judged = _linear_and_dense if contract.dense_offsets else nonlinearizable_logs
        return partial(judged, exact_ends=contract.exact_ends)
    return EXAMINERS[name]


def _linear_and_dense(facts: LogFacts, *, exact_ends: bool) -> Findings:
    """Against time, and whether all offsets can have been filled in time."""
    found, gaps = nonlinearizable_logs(facts, exact_ends=exact_ends), unfilled_offsets(facts)
    return replace(
        found,
        found=tuple(sorted((*found.found, *gaps.found), key=lambda one: one.ops)[:SHOWN]),
        count=found.count + gaps.count,
    )
