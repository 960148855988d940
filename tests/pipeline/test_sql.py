"""Queries of a lake only read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.errors import UsageFailure
from pipeline.sql import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "query",
    [
        "WITH one AS (SELECT 1) INSERT OVERWRITE DIRECTORY '{out}' USING csv SELECT * FROM one",
        "FROM VALUES (1) INSERT/**/OVERWRITE DIRECTORY '{out}' USING csv SELECT *",
        "FROM VALUES (1) INSERT INTO a SELECT * INSERT INTO b SELECT *",
    ],
)
def test_a_query_that_writes_is_refused(spark: SparkSession, query: str, tmp_path: Path) -> None:
    with pytest.raises(UsageFailure, match="this one writes"):
        ask(spark, query.format(out=tmp_path / "out"), 5)
    assert list(tmp_path.iterdir()) == []


def test_a_query_may_mention_what_writes(spark: SparkSession) -> None:
    assert ask(spark, "SELECT 'INSERT INTO t' AS text", 5) == (["text"], [["INSERT INTO t"]])
