"""One session of Spark for all tests of a process: to start one takes ten seconds and more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipeline.lake import Lake
from pipeline.session import SparkSettings, spark_session
from tests.clients.conftest import RunningBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    settings = SparkSettings(
        master="local[2]",
        driver_memory="1g",
        log=log,
        # Tables of tests are small: a stage of two hundred tasks would be two hundred starts.
        more={"spark.sql.shuffle.partitions": "2"},
    )
    with spark_session(settings) as session:
        yield session


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a single broker, for tests of Spark's Kafka connector."""
    broker = RunningBroker(tmp_path_factory.mktemp("broker"))
    try:
        yield broker.bootstrap
    finally:
        broker.stop()


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, str(tmp_path / "lake"))


@pytest.fixture
def reopened(spark: SparkSession) -> Callable[[Lake], Lake]:
    """The same lake, as another command would find it."""
    return lambda lake: Lake(spark, lake.root)
