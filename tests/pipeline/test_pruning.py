"""harness ls --prune --in-lake, with a lake that cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.ingest import ingest
from pipeline.lake import Lake
from pipeline.reading.listing import named
from tests.pipeline.made_store import stored_run

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_damaged_file_of_the_lake_is_named_and_nothing_is_removed(
    lake: Lake, tmp_path: Path
) -> None:
    run = stored_run(tmp_path / "store")
    ingest(lake, named([run]), model="kafka")
    runs = next(Path(lake.root).glob("runs/*/*/part-*.parquet"))
    runs.write_bytes(runs.read_bytes()[:-20])
    words = ("ls", "--prune", "--keep", "0", "--yes", "--in-lake", "lake", "--store", "store")
    done = subprocess.run(
        [sys.executable, "-m", "harness", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 255
    assert done.stderr.startswith("harness: lake: file:"), done.stderr
    assert f"{runs.name} is damaged" in done.stderr
    assert run.is_dir()
