"""The first use of `harness lake` in a clone installs PySpark, and says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import lake_setup
from harness.cli.lake_setup import provide_spark
from harness.errors import EnvironmentFailure


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One whose .venv we run in, without PySpark."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "setup-spark").write_text("echo installing; touch installed; exit 1\n")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(lake_setup, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_clone_installs_it(clone: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EnvironmentFailure, match="could not be installed"):
        provide_spark(may_install=True, root=clone)
    assert (clone / "installed").exists()
    out, err = capfd.readouterr()
    assert out == "", "standard output is for the command's JSON"
    assert "--no-install refuses" in err


def test_it_is_not_installed_where_that_was_refused_or_we_run_elsewhere(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EnvironmentFailure, match="make setup-spark, or pip install"):
        provide_spark(may_install=False, root=clone)
    monkeypatch.setattr(sys, "prefix", "/usr")
    with pytest.raises(EnvironmentFailure, match="make setup-spark, or pip install"):
        provide_spark(may_install=True, root=clone)
    assert not (clone / "installed").exists()


def test_nothing_is_done_where_it_is_there(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake_setup, "find_spec", lambda _: object())
    monkeypatch.setattr("pipeline.session.require_spark", lambda: None)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something is installed"))
    provide_spark(may_install=True, root=clone)
