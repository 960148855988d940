"""A whole run as list-append: each partition a list, judged by what Kafka promises of a log.

Appends are strictly ordered: of two, the one that was acknowledged before the other began is the
earlier in the list, and so is what a read had shown. Every read is a beginning of that one list.
But a read may be of a leader that was deposed and does not know it, and lack what was acknowledged
elsewhere: reads are serializable, not strictly so.
"""

from __future__ import annotations

from dataclasses import replace

from checkers.checker import Checker, Evidence
from checkers.clauses import BLIND_RETRIES, LOSS, allowed, never
from checkers.contract import Contract
from checkers.findings import Finding, Findings
from checkers.transactions.list_append import LIST_APPEND, examined_lists
from checkers.transactions.verdicts import Promised

PROMISED = ("serializable", "strong-read-committed")
_DUPLICATE = "duplicate-elements"
_NOT_PROMISED = "list-append, not promised"


def _lists(evidence: Evidence, _: Contract) -> Findings:
    promised = Promised(PROMISED)
    findings = examined_lists(evidence.history, PROMISED).findings()

    def row_of(finding: Finding) -> str:
        if finding.type not in promised.forbidden:
            return _NOT_PROMISED
        # The types have rows of their own, but those speak of transactions over several logs.
        return "duplicate" if finding.type == _DUPLICATE else LIST_APPEND

    # A broken promise puts the history to the test, whatever the contract says of it.
    is_tested = any(each.type in promised.forbidden for each in findings.found)
    return replace(
        findings,
        found=tuple(replace(each, row=row_of(each)) for each in findings.found),
        unsure="" if is_tested else findings.nothing,
    )


CHECKERS = (
    Checker(
        name=LIST_APPEND,
        about="Reads of a partition are not the beginnings of one list in the order of time.",
        look=_lists,
        rows=(
            BLIND_RETRIES,
            *LOSS,
            never(
                "A partition is one list: every read is a beginning of it, and its order agrees "
                "with the order of time."
            ),
        ),
        other_rows={
            _NOT_PROMISED: (
                allowed("Reads of a log are serializable, and a deposed leader may answer them."),
            )
        },
        stands=True,
        model=LIST_APPEND,
    ),
)
