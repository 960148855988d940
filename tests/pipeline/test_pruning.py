"""harness ls --prune --in-lake, with a lake that cannot be opened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.made_store import stored_run

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_lake_that_is_a_file_is_a_sentence_and_removes_nothing(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "store")
    (tmp_path / "lake").write_text("no lake")
    words = ("ls", "--prune", "--keep", "0", "--yes", "--in-lake", "lake", "--store", "store")
    done = subprocess.run(
        [sys.executable, "-m", "harness", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (255, 1), done.stderr
    assert "harness: lake: Not a directory" in done.stderr
    assert run.is_dir()
