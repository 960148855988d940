"""Verdicts as rows of the tables `checks`, `anomalies` and `doubts`, and a run's own row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from harness.doubts import sentence_of
from pipeline.check.judge_run import JudgedRun
from pipeline.schema import TABLES

JUDGED: Final = ("checks", "anomalies", "doubts")
"""Tables whose rows a judgement replaces, beside the run's own row."""
TABLE, VERDICT = "table", "overall"
_FIELDS = {field.name: field for name in JUDGED for field in TABLES[name].schema}
SCHEMA: Final = pa.schema(
    [
        pa.field(TABLE, pa.string()),
        pa.field(VERDICT, pa.string()),
        *(field.with_nullable(True) for field in _FIELDS.values()),
    ]
)
"""One schema for all tables, because a Spark function returns one table. The column `table` names
the table of a row. A row of `runs` has only the run and its overall verdict."""


def rows_of(run: str, judged: JudgedRun) -> pa.Table:
    """The rows of one run, in SCHEMA."""
    rows: list[dict[str, Any]] = [{TABLE: "runs", VERDICT: judged.validity.value}]
    rows += [{TABLE: "checks", **row} for row in _checks(judged)]
    rows += [{TABLE: "anomalies", **row} for row in _anomalies(judged)]
    rows += [
        {
            TABLE: "doubts",
            "kind": doubt.kind.value,
            "subject": doubt.subject,
            "detail": doubt.detail,
            "sentence": sentence_of(doubt),
        }
        for doubt in judged.doubts
    ]
    return pa.Table.from_pylist([{"run": run, **row} for row in rows], schema=SCHEMA)


def _checks(judged: JudgedRun) -> Iterator[dict[str, Any]]:
    for verdict in judged.verdicts:
        yield {
            "checker": verdict.checker,
            "model": verdict.model,
            "verdict": verdict.validity.value,
            "why": verdict.why or None,
            "findings": max(int(verdict.stats.get("count", 0)), len(verdict.found)),
            "ruled_out": json.dumps(sorted(verdict.ruled_out)),
            "stats": json.dumps(verdict.stats, sort_keys=True),
        }


def _anomalies(judged: JudgedRun) -> Iterator[dict[str, Any]]:
    for verdict in judged.verdicts:
        for number, anomaly in enumerate(verdict.found):
            yield {
                "checker": verdict.checker,
                "number": number,
                "type": anomaly.type,
                "promise": anomaly.promise.value,
                "condition": anomaly.row or None,
                "contract": anomaly.contract or None,
                "ops": list(anomaly.ops),
                "because": anomaly.because,
                "witness": json.dumps(anomaly.witness, sort_keys=True),
            }
