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
        about="What brokers stored contradicts what clients were told.",
        look=_against_segments,
        rows=(),
        other_rows={
            "phantom-record": (never("A log holds what somebody sent to it, and nothing else."),),
            "failed-but-stored": (never("What certainly failed is in no log."),),
            "divergent-replicas": (
                UNSAFE,
                never("Replicas that had the same leader at one offset are equal up to there."),
            ),
            "damaged-segment": (STRUCK, never("What a broker has stored can be read again.")),
        },
    ),
)
