"""One query over the views of a session; an error is Spark's reason in one sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from harness.errors import EnvironmentFailure, UsageFailure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READS: Final = re.compile(
    r"\s*(SELECT|FROM|WITH|SHOW|DESCRIBE|DESC|EXPLAIN|VALUES|TABLE)\b", re.IGNORECASE
)
_WRITES: Final = re.compile(r"\bINSERT\s+(INTO|OVERWRITE)\b", re.IGNORECASE)
_CLASS: Final = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_STATE: Final = re.compile(r"\s*SQLSTATE:.*", re.DOTALL)


def ask(session: SparkSession, query: str, limit: int) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns, and the first rows. UsageFailure if Spark does not understand it."""
    if _READS.match(query) is None or _WRITES.search(query) is not None:
        raise UsageFailure(
            "only queries that read are asked of a lake; begin with SELECT, FROM, WITH, SHOW, "
            "DESCRIBE or EXPLAIN"
        )
    frame = _understood(session, query)
    try:
        rows = frame.limit(limit).collect()
    except Exception as error:
        raise EnvironmentFailure(f"Spark could not finish the query: {reason(error)}") from error
    return frame.columns, [[_plain(value) for value in row] for row in rows]


def _understood(session: SparkSession, query: str) -> DataFrame:
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.logger import PySparkLogger

    # This logger prints the Java stack of every wrong query, as JSON, to standard error.
    PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True
    try:
        return session.sql(query)
    except (AnalysisException, ParseException) as error:
        raise UsageFailure(f"Spark does not understand the query: {reason(error)}") from None


def reason(error: Exception) -> str:
    """The first paragraph of Spark's message, without its codes."""
    said = next(iter(str(error).strip().split("\n\n")), "") or type(error).__name__
    said = _STATE.sub("", _CLASS.sub("", said))
    return " ".join(said.split()).rstrip(".")


def _plain(value: Any) -> Any:
    """Nested rows as dicts, which JSON can represent."""
    from pyspark.sql import Row

    if isinstance(value, Row):
        return {name: _plain(each) for name, each in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
