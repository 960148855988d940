"""Sentences for failures of Spark, by the texts of their exceptions."""

from __future__ import annotations

import errno
import os

import pytest

from harness.errors import EnvironmentFailure
from pipeline.failures import explained


class JavaError(Exception):
    """Stands in for Py4J's exception."""


JavaError.__module__ = "py4j.protocol"

CALLED = "An error occurred while calling o39.exists.\n: "


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/lake/_log/1.json"),
            "No space left on device; make room",
        ),
        (OSError(errno.EIO, "Input/output error", "/lake/x"), "Input/output error: '/lake/x'"),
        (
            JavaError(
                f"{CALLED}org.apache.hadoop.fs.s3a.UnknownStoreException: `s3a://b/lake/_log': "
                "getFileStatus: software.amazon: The specified bucket does not exist (Service"
            ),
            "The specified bucket does not exist; create it",
        ),
        (
            JavaError(f"{CALLED}java.nio.file.AccessDeniedException: s3a://b/lake: 403\n\tat x"),
            "s3a://b/lake: 403$",
        ),
        (
            JavaError(
                f"{CALLED}org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered "
                "error while reading file file:///lake/operations/part-0.parquet.  SQLSTATE: KD001"
            ),
            r"file:///lake/operations/part-0\.parquet is damaged, or another command has removed",
        ),
        (
            JavaError("Answer from Java side is empty"),
            "the Java process of Spark's driver has ended",
        ),
        (
            JavaError(f"{CALLED}java.lang.OutOfMemoryError: Java heap space"),
            "Java heap space; give more with --memory",
        ),
    ],
)
def test_a_failure_of_the_environment_is_a_sentence(error: Exception, sentence: str) -> None:
    with pytest.raises(EnvironmentFailure, match=sentence) as raised, explained("lake"):
        raise error
    assert str(raised.value).startswith("lake: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "error",
    [
        KeyError("run"),
        JavaError(f"{CALLED}java.lang.NullPointerException: it is null"),
        JavaError(f"{CALLED}org.apache.spark.SparkException: Job aborted: AssertionError"),
    ],
)
def test_what_may_be_a_bug_of_ours_keeps_its_traceback(error: Exception) -> None:
    with pytest.raises(type(error)), explained("lake"):
        raise error
