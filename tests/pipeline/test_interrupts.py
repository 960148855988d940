"""Ctrl-C while Spark computes: exit code 130, and no word of PySpark's or Py4J's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
PROGRAM = """
import signal
from pathlib import Path
from pipeline.session import SparkSettings, spark_session

with spark_session(SparkSettings(master="local[1]", log=Path("spark.log"))) as spark:
    try:
        print(signal.getsignal(signal.SIGINT).__name__, flush=True)
        spark.range(10**15).selectExpr("sum(id % 7)").collect()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_an_interrupted_query_is_silent(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert started.stdout is not None
    assert started.stdout.readline() == "default_int_handler\n", "the handler is still Python's"
    started.send_signal(signal.SIGINT)
    out, err = started.communicate()
    assert (out, err) == ("interrupted\n", "")
