"""The lake for a command: Spark started, a progress bar, failures in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness.cli.lake import spark_log

if TYPE_CHECKING:
    from pipeline.lake import Lake
    from pipeline.progress import Say


@contextmanager
def open_lake(
    lake_root: str, master: str, memory: str, *, is_silent: bool = False
) -> Iterator[tuple[Lake, Say]]:
    """And a function that takes the step that begins, for the progress bar."""
    from pipeline.failures import explained
    from pipeline.lake import Lake
    from pipeline.progress import progress
    from pipeline.session import SparkSettings, spark_session

    settings = SparkSettings(master=master, driver_memory=memory, log=spark_log(lake_root))
    with (
        spark_session(settings) as spark,
        explained(lake_root),
        progress(spark, is_silent=is_silent) as say,
    ):
        yield Lake(spark, lake_root), say
