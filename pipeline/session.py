"""Starts Spark: on loopback, without its web page, with the Python of this process.

Everything that Spark and its workers print goes to a file. A process has one session at a time,
because Spark allows no more.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import EnvironmentFailure
from pipeline.java import java_home
from pipeline.jvm import ended_if_not_started
from pipeline.scratch import scratch_directory
from pipeline.shipping import python_path, ship

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PARTITIONS_PER_CORE = 12
"""Partitions of a shuffle on one machine: enough to even out tasks of different length."""
SETUP = "install it: make setup-spark, or pip install 'log-trial[spark]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """Where the work is done and with how much memory."""

    master: str = "local[*]"
    driver_memory: str = "2g"
    log: Path | None = None
    """File for everything that Spark prints; None: a temporary one."""
    packages: tuple[str, ...] = ()
    """Maven coordinates of connectors, fetched when the session starts."""
    jars: tuple[Path, ...] = ()
    """Files of connectors, for the driver and all workers."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Properties of Spark that override ours."""

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")


def require_spark() -> None:
    """EnvironmentFailure with a sentence if pyspark is not installed."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise EnvironmentFailure(f"PySpark is not installed; {SETUP}") from None


@contextmanager
def spark_session(settings: SparkSettings) -> Iterator[SparkSession]:
    """A session, which is stopped at the end with everything that it started."""
    require_spark()
    with scratch_directory() as scratch:
        session = _started(settings, scratch)
        try:
            with _messages_to(settings.log):
                ship(session, settings.is_local, scratch)
                yield session
        finally:
            _stop(session)


@contextmanager
def batches_of_any_size(session: SparkSession) -> Iterator[None]:
    """No limit on the bytes of an Arrow batch, for rows of a few numbers.

    Spark measures a batch after every row, which takes three quarters of the time. The number of
    rows still limits batches.
    """
    name = "spark.sql.execution.arrow.maxBytesPerBatch"
    before = session.conf.get(name)
    session.conf.set(name, str(2**31 - 1))
    try:
        yield
    finally:
        session.conf.set(name, str(before))


def _properties(settings: SparkSettings, scratch: Path) -> dict[str, str]:
    properties = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": settings.driver_memory,
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        # The schema names the types of partition columns: a batch such as "123" is a string.
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.parquet.compression.codec": "zstd",
        # A million elements take 1 to 4 MB in the lake, so 128 MB, the default, are far too many.
        "spark.sql.files.maxPartitionBytes": "4m",
        "spark.sql.files.openCostInBytes": "256k",
        # Spark keeps the plans of a thousand queries for a web page that is off here, and the plans
        # of histories that are judged in parts are long.
        "spark.sql.ui.retainedExecutions": "20",
        "spark.log.level": "WARN",
        "spark.executorEnv.PYTHONPATH": python_path(settings.is_local),
    }
    if settings.is_local:
        properties |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # 200, the default, is for clusters: for a small lake a task costs more than its work.
            "spark.sql.shuffle.partitions": str(_PARTITIONS_PER_CORE * (os.cpu_count() or 1)),
        }
    if settings.packages:
        properties["spark.jars.packages"] = ",".join(settings.packages)
    if settings.jars:
        properties["spark.jars"] = ",".join(str(jar) for jar in settings.jars)
    return {**properties, **settings.more}


def _builder(settings: SparkSettings, scratch: Path) -> SparkSession.Builder:
    from pyspark.sql import SparkSession

    home = java_home(scratch)
    (scratch / "local").mkdir()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    # Workers that run the python of the PATH would not find the packages of this one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if settings.is_local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(settings.master).appName("log-trial")
    for name, value in _properties(settings, scratch).items():
        builder = builder.config(name, value)
    return builder


def _started(settings: SparkSettings, scratch: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    log = settings.log or scratch / "spark.log"
    with _output_to(log) as begin:
        if SparkSession.getActiveSession() is not None:
            raise EnvironmentFailure("a session of Spark is running in this process already")
        builder = _builder(settings, scratch)
        try:
            with ended_if_not_started(), _interrupts_kept():
                return builder.getOrCreate()
        except Exception as error:
            printed = log.read_bytes()[begin:].decode(errors="replace")
            why = why_not_started(str(error), printed)
            kept = Path(tempfile.gettempdir()) / "log-trial-spark.log"
            if settings.log is None:
                shutil.copyfile(log, kept)
                log = kept
            raise EnvironmentFailure(
                f"Spark did not start on {settings.master} ({why}); what it printed is in {log}"
            ) from error


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """PySpark's own handler talks to Java in the middle of another call to it, which fails."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _messages_to(log: Path | None) -> Iterator[None]:
    """Py4J reports an interrupted call with its stack, by Python's root logger."""
    handler = logging.NullHandler() if log is None else logging.FileHandler(log, delay=True)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


_IN_LOG: Final = (
    re.compile(r"Application has been killed\. Reason: (.+)"),
    re.compile(r'^Exception in thread "main" [\w.$]+: (.+)', re.MULTILINE),
    re.compile(r"^((?:Invalid|Unrecognized|Too small|Could not reserve) .+)", re.MULTILINE),
)
"""Of a cluster, of Spark's launcher, of Java."""
_IN_ERROR: Final = re.compile(r"^: [\w.$]+: (.+)", re.MULTILINE)


def why_not_started(error: str, log: str) -> str:
    """The reason in what this start printed, else that of the exception that Python has."""
    found = (*(pattern.search(log) for pattern in _IN_LOG), _IN_ERROR.search(error))
    reasons = (each[1].strip() for each in found if each is not None)
    return next(reasons, next(iter(error.splitlines()), "it gave no reason"))


@contextmanager
def _output_to(log: Path) -> Iterator[int]:
    """What every process prints that is started meanwhile goes to the end of this file, which is
    at the number that the block gets."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        out = log.open("ab")
    except OSError as error:
        raise EnvironmentFailure(
            f"Spark's output cannot be written to {log} ({error.strerror}); name another lake with "
            "--lake, or work in another directory"
        ) from None
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    with out:
        for number in kept:
            os.dup2(out.fileno(), number)
        try:
            yield out.tell()
        finally:
            for number, before in kept.items():
                os.dup2(before, number)
                os.close(before)


def _stop(session: SparkSession) -> None:
    """Ends the session and the JVM, which would outlive it until this process ends."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    with warnings.catch_warnings():
        # After an interrupted call the connection is gone; Java ends by its standard input below.
        warnings.simplefilter("ignore", RuntimeWarning)
        session.stop()
    if gateway is not None:
        gateway.shutdown()
        process = getattr(gateway, "proc", None)
        if process is not None:
            process.stdin.close()
            process.wait(timeout=60)
        SparkContext._gateway = None
        SparkContext._jvm = None
