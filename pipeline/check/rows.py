"""A judged run as rows of several tables, in the one table that a Spark function returns."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from pipeline.check.judge_run import JudgedRun
from pipeline.schema import TABLES
from pipeline.verdict_rows import JUDGED, rows_of_judgement

TABLE, VERDICT = "table", "overall"
_FIELDS = {field.name: field for name in JUDGED for field in TABLES[name].schema}
SCHEMA: Final = pa.schema(
    [
        pa.field(TABLE, pa.string()),
        pa.field(VERDICT, pa.string()),
        *(field.with_nullable(True) for field in _FIELDS.values()),
    ]
)
"""The column `table` names the table of a row. A row of `runs` has only the run and its overall
verdict."""


def rows_of(run: str, judged: JudgedRun) -> pa.Table:
    """The rows of one run, in SCHEMA."""
    rows: list[dict[str, Any]] = [{TABLE: "runs", VERDICT: judged.validity.value}]
    rows += [
        {TABLE: table, **row} for table, row in rows_of_judgement(judged.verdicts, judged.doubts)
    ]
    return pa.Table.from_pylist([{"run": run, **row} for row in rows], schema=SCHEMA)
