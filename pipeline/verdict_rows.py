"""Verdicts and doubts as rows of the tables `checks`, `anomalies` and `doubts`.

An ingest writes the rows of a stored verdict, and `harness lake check` those of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from checkers.verdict import Verdict
from harness.doubts import Doubt, sentence_of

JUDGED: Final = ("checks", "anomalies", "doubts")
"""Tables whose rows a judgement replaces, beside the run's own row."""

Row = dict[str, Any]


def rows_of_judgement(
    verdicts: Iterable[Verdict], doubts: Iterable[Doubt]
) -> Iterator[tuple[str, Row]]:
    """Each row with the name of its table."""
    for verdict in verdicts:
        yield "checks", _check(verdict)
        for number, anomaly in enumerate(verdict.found):
            yield (
                "anomalies",
                {
                    "checker": verdict.checker,
                    "number": number,
                    "type": anomaly.type,
                    "promise": anomaly.promise.value,
                    "condition": anomaly.row or None,
                    "contract": anomaly.contract or None,
                    "ops": list(anomaly.ops),
                    "because": anomaly.because,
                    "witness": json.dumps(anomaly.witness, sort_keys=True),
                },
            )
    for doubt in doubts:
        yield (
            "doubts",
            {
                "kind": doubt.kind.value,
                "subject": doubt.subject,
                "detail": doubt.detail,
                "sentence": sentence_of(doubt),
            },
        )


def _check(verdict: Verdict) -> Row:
    return {
        "checker": verdict.checker,
        "model": verdict.model,
        "verdict": verdict.validity.value,
        "why": verdict.why or None,
        "findings": max(int(verdict.stats.get("count", 0)), len(verdict.found)),
        "ruled_out": json.dumps(sorted(verdict.ruled_out)),
        "stats": json.dumps(verdict.stats, sort_keys=True),
    }
