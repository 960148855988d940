"""Opens the lake for a command: starts Spark, shows progress, explains failures."""

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
    """The lake, and a function that takes the name of each step for the progress bar."""
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
