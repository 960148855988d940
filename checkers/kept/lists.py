"""A whole run as list-append: each partition a list, judged by what Kafka promises of a log.

Appends are strictly ordered: of two, the one that was acknowledged before the other began is the
earlier in the list, and so is what a read had shown. Every read is a beginning of that one list.
But a read may be of a leader that was deposed and does not know it, and lack what was acknowledged
elsewhere: reads are serializable, not strictly so.
"""

from __future__ import annotations

from dataclasses import replace

from checkers.contract import Contract, Promise
from checkers.models import Question, judge
from checkers.verdict import Anomaly, Validity, Verdict
from harness.history.history import History

LIST_APPEND = "list-append"
PROMISED = ("serializable", "strong-read-committed")
_DUPLICATE = "duplicate-elements"


def list_verdict(history: History, contract: Contract) -> Verdict:
    result = judge(history, LIST_APPEND, Question(contract=contract, consistency_models=PROMISED))
    by_promise: dict[Promise, list[Anomaly]] = {promise: [] for promise in Promise}
    why = result.why
    for anomaly in result.anomalies:
        if anomaly.severity == "unknown":
            continue
        if anomaly.type in result.allowed:
            by_promise[Promise.ALLOWED].append(anomaly)
            continue
        # The types have rows of their own, but those speak of transactions over several logs.
        row = "duplicate" if anomaly.type == _DUPLICATE else LIST_APPEND
        ruling = contract.ruling(row)
        severity = "error" if ruling.promise is Promise.NEVER else "info"
        ruled = replace(anomaly, severity=severity, contract=ruling.sentence)
        by_promise[ruling.promise].append(ruled)
        if ruling.promise is Promise.UNSAYABLE:
            why = ruling.sentence
    never = by_promise[Promise.NEVER]
    validity = Validity.INVALID if never else Validity.UNKNOWN if why else Validity.VALID
    return Verdict(
        checker=LIST_APPEND,
        model=LIST_APPEND,
        validity=validity,
        anomalies=tuple(never),
        allowed=tuple(by_promise[Promise.ALLOWED]),
        unsaid=tuple(by_promise[Promise.UNSAYABLE]),
        why="" if never else why,
        ruled_out=result.ruled_out,
        stats=result.stats,
    )
