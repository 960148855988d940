"""segments: what clients were told against what brokers stored, where segments were kept."""

from __future__ import annotations

from checkers.checker import Checker, Evidence
from checkers.clauses import STRUCK, UNSAFE, never
from checkers.contract import Contract
from checkers.findings import Findings
from checkers.segments.compare import Comparison

SEGMENTS = "segments"


def _against_segments(evidence: Evidence, contract: Contract) -> Findings:
    if not evidence.replicas:
        return Findings(nothing="no segments of the brokers were kept")
    copies = contract.replication_factor
    return Comparison(evidence.facts, evidence.replicas, copies).findings()


CHECKERS = (
    Checker(
        name=SEGMENTS,
        about="The segments of the brokers contradict the responses that clients received.",
        look=_against_segments,
        rows=(),
        other_rows={
            "phantom-record": (never("A log holds only records that were sent to it."),),
            "failed-but-stored": (never("No log holds a record whose send failed."),),
            "divergent-replicas": (
                UNSAFE,
                never("Replicas that had the same leader at one offset are equal up to there."),
            ),
            "damaged-segment": (STRUCK, never("Stored records can be read again.")),
        },
    ),
)
