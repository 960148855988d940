"""Rows of a judgement are those that ingest makes of the same results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from checkers.verdict import Validity
from harness.run.plan import Plan
from harness.store.stored_run import read_results
from pipeline.check.judge_run import JudgedRun
from pipeline.check.rows import TABLE, rows_of
from pipeline.reading.facts import Counts, facts_of
from pipeline.reading.listing import listed
from pipeline.schema import TABLES
from pipeline.verdict_rows import JUDGED
from tests.pipeline.made_store import results, stored_run, write_results

COUNTS = Counts(operations=41, elements=40, length_ns=0, torn=False, timestamps=False)
JSON = ("stats", "ruled_out", "witness")


def plain(rows: list[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    """The columns of the table, with JSON as data."""
    names = [each.name for each in TABLES[table].columns]
    return [
        {name: json.loads(row[name]) if name in JSON else row[name] for name in names}
        for row in rows
    ]


def test_a_judged_run_and_an_ingested_one_have_the_same_rows(tmp_path: Path) -> None:
    directory = stored_run(tmp_path)
    write_results(directory, results(directory, Plan(), Validity.INVALID))
    found = read_results(directory)
    (source,) = listed([directory]).sources
    ingested = facts_of(source, COUNTS, "kafka").rows
    judged = JudgedRun(found.validity, found.verdicts, found.doubts)
    rows = rows_of(source.run, judged).to_pylist()
    for table in JUDGED:
        mine = [row for row in rows if row[TABLE] == table]
        assert mine
        assert plain(mine, table) == plain(ingested[table], table)
