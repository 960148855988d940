"""One lake with figures for all tests: runs that were written by hand, and simulated ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checkers.verdict import Validity
from harness.errors import UsageFailure
from pipeline.figures.figures import FIGURES
from pipeline.figures.store import FigureStore
from pipeline.ingest import ingest
from pipeline.lake import Lake
from pipeline.reading.listing import stored as stored_in
from tests.pipeline.figures.handmade_runs import (
    CLIENTS,
    KILL,
    SIMULATED,
    stored,
    under_a_kill,
    with_a_group,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("store")
    stored(made, 0, under_a_kill(), faults=[KILL])
    stored(made, 1, with_a_group(), workload="group")
    stored(
        made, 2, under_a_kill(), faults=[KILL], validity=Validity.INVALID, acks="1", head="b" * 16
    )
    for workload, more in SIMULATED.items():
        subprocess.run(
            [sys.executable, "-m", "harness", "test", "--on", "sim", "-w", workload, "--store",
             str(made), "--time-limit", "8", "--rate", "80", "--concurrency", str(CLIENTS), *more],
            check=False, capture_output=True, timeout=300,
        )  # fmt: skip
    return made


@pytest.fixture(scope="session")
def figures(
    spark: SparkSession, store: Path, tmp_path_factory: pytest.TempPathFactory
) -> FigureStore:
    lake = Lake(spark, str(tmp_path_factory.mktemp("lake") / "lake"))
    ingest(lake, stored_in(store), model="kafka")
    with pytest.raises(UsageFailure, match="has no figures yet; harness lake tables"):
        FigureStore(lake).require()
    made = FigureStore(lake)
    assert [each.name for each in made.rewrite()] == list(FIGURES)
    return made
