"""Options of `harness lake` that are wrong are refused before Spark starts, with 254."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from harness.cli import main
from harness.cli.lake import spark_log


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["lake", "sql", "SELECT 1", *words])
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.mark.parametrize(
    "master", ["nonsense", "local[0]", "local[x]", "localhost:7077", "", "Spark://x"]
)
def test_a_master_that_spark_does_not_know_is_refused(
    master: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("--master", master) == 254
    assert f"{master} is no master; give local[N]" in capsys.readouterr().err


@pytest.mark.parametrize("memory", ["lots", "2", "1m", "511m", "2 g", "-2g", "1.5g"])
def test_memory_that_java_does_not_take_is_refused(
    memory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("--memory", memory) == 254
    assert f"{memory} is" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [("--master", "local"), ("--master", "local[*]"), ("--master", "local[2, 3]"),
     ("--master", "spark://a:7077"), ("--master", "yarn"), ("--memory", "512m"),
     ("--memory", "1g")],
)  # fmt: skip
def test_what_spark_takes_goes_on(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(*words, "--json", "--csv") == 254
    assert "exclude each other" in capsys.readouterr().err


def test_what_spark_prints_goes_beside_the_lake_or_where_it_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/tmp")
    closed = {tmp_path / "shared"}
    (tmp_path / "shared").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: path not in closed)
    assert spark_log("new/lake/") == tmp_path / "new" / "lake.spark.log"
    assert spark_log("s3a://bucket/lake") == tmp_path / "spark.log"
    assert spark_log(f"{tmp_path}/shared/lake") == tmp_path / "spark.log"
    closed.add(tmp_path)
    assert spark_log(f"{tmp_path}/shared/lake") == Path("/tmp/log-trial-spark.log")


@pytest.mark.parametrize("query", ["DROP VIEW runs", "", "SET a = b", "INSERT INTO runs SELECT 1"])
def test_what_is_no_query_is_refused_before_spark_starts(
    query: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(SystemExit) as end:
        main(["lake", "sql", query])
    assert end.value.code == 254
    assert "begin with SELECT" in capsys.readouterr().err
