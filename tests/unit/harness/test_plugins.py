"""What a plugin adds is known as ours is, and one that cannot be loaded is refused."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from checkers.registry import all_checkers
from harness import plugins
from harness.cli import cli
from harness.cli.exits import EXIT_USAGE, exit_code_of
from harness.plugins import PluginError, load_plugins, require
from harness.registry import KAFKA, REGISTRY, SystemKind
from harness.run.environment import environment
from harness.run.plan import Plan
from tests.unit.harness.registries import kept_registry

ADDS_ALL = '''
"""A plugin."""
from harness.registry import Registry
from checkers.checker import Checker
from checkers.findings import Findings


class Idle:
    """Does nothing at all.

    And says no more."""


def register(registry: Registry) -> None:
    registry.system("mine", Idle, about="a system of mine", protocol="mine")
    registry.client("mine", Idle, protocol="mine")
    registry.workload("idle", Idle)
    registry.nemesis("idle", Idle)
    registry.checker(
        Checker(name="mine", about="Mine.", look=lambda *_: Findings(nothing="-"), rows=())
    )
'''


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with kept_registry():
        yield


def written(directory: Path, text: str, name: str = "mine.py") -> str:
    (directory / name).write_text(text)
    return str(directory / name)


def test_all_five_kinds_are_added(tmp_path: Path) -> None:
    load_plugins([written(tmp_path, ADDS_ALL)])
    assert REGISTRY.systems["mine"].about == "a system of mine"
    assert REGISTRY.clients_for("mine") == ["mine"]
    assert "idle" in REGISTRY.workloads
    assert "idle" in REGISTRY.nemeses
    assert all_checkers()["mine"].about == "Mine."


def test_a_plugin_that_is_named_twice_is_loaded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, ADDS_ALL)
    monkeypatch.chdir(tmp_path)
    load_plugins([path, "mine.py"])
    load_plugins([path])


def test_a_module_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, ADDS_ALL, "my_plugin_module.py")
    monkeypatch.syspath_prepend(tmp_path)
    load_plugins(["my_plugin_module"])
    assert "mine" in REGISTRY.systems
    del sys.modules["my_plugin_module"]


def test_installed_plugins_are_loaded_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, ADDS_ALL, "my_installed_plugin.py")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("mine", "my_installed_plugin", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    load_plugins([])
    assert "mine" in REGISTRY.systems
    del sys.modules["my_installed_plugin"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such file"),
        ("x = 1", "it has no function register(registry)"),
        (
            "import nothing_of_the_kind",
            "ModuleNotFoundError: No module named",
        ),
        ("def register(:", "SyntaxError"),
        ("def register(registry): registry.workload('queue', 'x')", "there is a workload 'queue'"),
        ("def register(registry): registry.workload(5, 'x')", "5 cannot be the name of a workload"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("def register(registry): raise SystemExit", "SystemExit"),
        (ADDS_ALL.replace('name="mine"', 'name="lost-write"'), "there is a checker 'lost-write'"),
    ],
)
def test_one_that_cannot_be_loaded_is_refused_in_a_sentence(
    tmp_path: Path, text: str | None, said: str
) -> None:
    path = str(tmp_path / "mine.py") if text is None else written(tmp_path, text)
    with pytest.raises(PluginError) as refused:
        load_plugins([path])
    assert str(refused.value).startswith(f"plugin {path} could not be loaded: ")
    assert said in str(refused.value)
    assert exit_code_of(refused.value) == EXIT_USAGE


def test_the_command_line_lists_what_a_plugin_adds(tmp_path: Path) -> None:
    path = written(tmp_path, ADDS_ALL)
    for command, line in (
        ("workloads", "idle Does nothing at all."),
        ("checkers", "Mine."),
        ("systems ls", "mine a system of mine; ready"),
    ):
        said = CliRunner().invoke(cli, [*command.split(), "--plugin", path])
        assert line in re.sub(" +", " ", said.output), said


def test_the_command_to_run_it_again_names_the_plugins() -> None:
    plan = Plan(plugin=("a.py", "b"), system="tiny")
    assert plan.command().endswith("--system tiny --plugin a.py --plugin b")


def test_a_stored_run_has_no_plugin_loaded_by_itself(tmp_path: Path) -> None:
    path = written(tmp_path, ADDS_ALL)
    (tmp_path / "plan.json").write_text(Plan(plugin=(path,)).text())
    with pytest.raises(PluginError, match=f"add --plugin {path}"):
        Plan.load(tmp_path / "plan.json")
    load_plugins([path])
    require([path])
    assert Plan.load(tmp_path / "plan.json").plugin == (path,)


def test_the_environment_of_a_run_tells_one_plugin_file_from_another(tmp_path: Path) -> None:
    first, second = written(tmp_path, ADDS_ALL, "a.py"), written(tmp_path, "x = 1", "b.py")
    told = environment([first, second, "a_module"])["plugins"]
    assert isinstance(told, dict)
    assert len(set(told.values())) == 3
    assert told["a_module"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--system bagel", "unknown system 'bagel'; choose one of reference, kafka"),
        ("--client instant", "cannot be used with --system reference; try confluent or aiokafka"),
        (
            "--system deaf",
            "--system deaf speaks deaf, and no known client does; add one with --plugin",
        ),
    ],
)
def test_systems_and_clients_must_fit(words: str, said: str) -> None:
    REGISTRY.system("deaf", "x:y", about="", protocol="deaf")
    result = CliRunner().invoke(cli, ["test", *words.split()], standalone_mode=False)
    assert isinstance(result.exception, click.UsageError)
    assert said in str(result.exception)


def test_ours_speak_kafka_and_flush_nothing() -> None:
    for name in ("reference", "kafka"):
        kind = REGISTRY.systems[name]
        assert isinstance(kind, SystemKind)
        assert (kind.protocol, kind.flushes) == (KAFKA, False)
