"""Why Spark did not start, in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import EnvironmentFailure
from pipeline.session import SparkSettings, spark_session, why_not_started

EXITED = "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number."
CALLED = "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n: "


@pytest.mark.parametrize(
    ("error", "log", "reason"),
    [
        (
            EXITED,
            'WARN x\nException in thread "main" org.apache.spark.SparkException: Master must '
            "either be yarn or start with spark\n\tat org.apache.spark.deploy.SparkSubmit.error",
            "Master must either be yarn or start with spark",
        ),
        (
            EXITED,
            "Invalid maximum heap size: -Xmxlots\nError: Could not create the Java VM.",
            "Invalid maximum heap size: -Xmxlots",
        ),
        (
            f"{CALLED}java.lang.IllegalStateException: it is stopped",
            "ERROR StandaloneSchedulerBackend: Application has been killed. Reason: All masters "
            "are unresponsive! Giving up.",
            "All masters are unresponsive! Giving up.",
        ),
        (
            f"{CALLED}org.apache.spark.SparkException: Asked to run locally with 0 threads\n\tat x",
            "",
            "Asked to run locally with 0 threads",
        ),
        (EXITED, "", EXITED),
        ("", "", "it gave no reason"),
    ],
)
def test_the_reason_is_that_of_java(error: str, log: str, reason: str) -> None:
    assert why_not_started(error, log) == reason


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    (tmp_path / "file").write_text("")
    settings = SparkSettings(log=tmp_path / "file" / "spark.log")
    with (
        pytest.raises(EnvironmentFailure, match=r"cannot be written to .*spark\.log"),
        spark_session(settings),
    ):
        pass
