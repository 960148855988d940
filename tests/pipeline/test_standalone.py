"""A real cluster of Spark, whose workers get our code from us, and lose one of their number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.models import Question, judge
from harness.history.history import History
from pipeline.shipping import PACKAGES
from tests.pipeline.standalone_cluster import (
    StandaloneCluster,
    python_without_our_code,
    standalone_cluster,
)
from tests.pipeline.standalone_job import write_histories

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    return python_without_our_code(tmp_path / "python")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path) as started:
        yield started


def run_job(cluster: StandaloneCluster, python: Path, home: Path, *, kill: bool) -> dict[str, Any]:
    job = subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.standalone_job", cluster.url],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": str(python)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    with job:
        try:
            assert job.stdout.readline() == "under way\n", _errors(job, home)
            if kill:
                cluster.kill_a_worker()
            said = job.stdout.read()
            assert job.wait() == 0, _errors(job, home)
        finally:
            job.kill()
    found: dict[str, Any] = json.loads(said)
    return found


def _errors(job: subprocess.Popen[str], home: Path) -> str:
    job.kill()
    assert job.stderr is not None
    log = home / "driver.log"
    return job.stderr.read()[-3000:] + (log.read_text()[-3000:] if log.exists() else "")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Of the local engine: by run the verdict, and the types of its anomalies."""
    paths = write_histories(tmp_path_factory.mktemp("here") / "histories")
    judged = {path.stem: judge(History.load(path), "kafka", Question()) for path in paths}
    return {
        run: [each.validity.value, *sorted({one.type for one in each.anomalies})]
        for run, each in judged.items()
    }


def test_the_python_of_the_workers_does_not_have_our_code(bare_python: Path) -> None:
    for package in PACKAGES:
        done = subprocess.run(
            [str(bare_python), "-c", f"import numba, pyarrow; import {package}"],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )
        assert f"No module named '{package}'" in done.stderr


def test_a_cluster_gives_the_verdicts_of_this_process(
    cluster: StandaloneCluster,
    bare_python: Path,
    tmp_path: Path,
    expected: dict[str, list[str]],
) -> None:
    found = run_job(cluster, bare_python, tmp_path, kill=False)
    assert found == {"verdicts": expected, "uncut": {}, "executors": 2}


def test_a_worker_that_is_killed_meanwhile_changes_no_verdict(
    cluster: StandaloneCluster,
    bare_python: Path,
    tmp_path: Path,
    expected: dict[str, list[str]],
) -> None:
    found = run_job(cluster, bare_python, tmp_path, kill=True)
    assert found == {"verdicts": expected, "uncut": {}, "executors": 1}
    assert len({tuple(one) for one in expected.values()}) == 4
