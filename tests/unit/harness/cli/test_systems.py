"""harness systems: what is ready, and what to do about what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.systems import systems
from harness.cluster.kafka_jars import KAFKA_VERSION, home
from harness.errors import EnvironmentFailure


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_is_not_fetched_is_listed_with_the_command_that_does() -> None:
    shown = CliRunner().invoke(systems, ["ls"])
    assert f"Apache Kafka {KAFKA_VERSION}; not installed; try: harness systems" in shown.output


def test_what_is_there_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    (home() / "complete").touch()
    monkeypatch.setenv("PATH", "")
    shown = CliRunner().invoke(systems, ["install", "kafka"])
    assert f"is in {home() / 'jars'}" in shown.output
    assert "java is not installed" in shown.output
    assert "; ready" in CliRunner().invoke(systems, ["ls"]).output.splitlines()[1]


def test_without_maven_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFailure, match=r"no mvn here.*apt-get install maven"):
        CliRunner().invoke(systems, ["install", "kafka"], catch_exceptions=False)


def test_a_maven_that_fails_has_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\necho no such repository >&2\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="is a Maven repository reachable") as told:
        CliRunner().invoke(systems, ["install", "kafka"], catch_exceptions=False)
    assert "no such repository" in str(told.value)
    assert not (home() / "complete").exists()
