"""The recipes of docs/extending.md do what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from checkers.registry import all_checkers
from harness.cluster.local import LocalPlace
from harness.cluster.parts import EVERY_PART, offered
from harness.plugins import load_plugins
from harness.registry import REGISTRY
from harness.run.feasible import ground_of, why_no_verdict
from harness.run.plan import Plan
from harness.run.stage import make_system
from harness.run.workload import workload_of
from nemesis import described, parse
from tests.run.commands import harness
from tests.unit.harness.registries import kept_registry

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"
EXAMPLE = ROOT / "docs" / "examples" / "tiny_log.py"


def recipes() -> dict[str, str]:
    """By file name, as the page has them."""
    blocks = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return dict(blocks)


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Mapping[str, str]]:
    paths = {}
    for name, text in recipes().items():
        (tmp_path / name).write_text(text)
        paths[name] = str(tmp_path / name)
    with kept_registry():
        yield paths


def test_each_recipe_is_a_plugin(written: Mapping[str, str], tmp_path: Path) -> None:
    assert set(written) == {"freeze.py", "one_log.py", "negative_offset.py", "my_broker.py"}
    load_plugins(written.values())
    assert described()["freeze"].startswith("Stops all brokers at once")
    plan = Plan(workload="one-log", nemesis="freeze", system="my-broker", on="local")
    assert all(name in all_checkers() for name in workload_of(plan).checkers)
    (freeze,) = parse("freeze")
    assert freeze.why_never(ground_of(plan)) is None
    system = make_system(plan, LocalPlace(tmp_path))
    assert (system.name, offered(system)) == ("my-broker", EVERY_PART)


def test_the_example_has_no_more_than_200_lines_and_is_listed() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 200
    with kept_registry():
        load_plugins([str(EXAMPLE)])
        assert REGISTRY.clients_for("tiny-log") == ["tiny-log"]
        assert REGISTRY.systems["tiny-log"].flushes
        plan = Plan(system="tiny-log", client="tiny-log", nodes=1, replication_factor=1)
        assert why_no_verdict(plan) is None
        for workload, said in (
            ("append", "client tiny-log lacks txn; it has assign, end-offsets, poll, send"),
            ("register", "client tiny-log lacks "),
            ("admin", "it needs topics that can be created and altered"),
        ):
            assert said in str(why_no_verdict(replace(plan, workload=workload)))


@pytest.mark.slow
def test_the_recipes_come_to_a_verdict(written: Mapping[str, str], tmp_path: Path) -> None:
    plugins = [word for path in written.values() for word in ("--plugin", path)]
    words = ("-w", "one-log", "--nodes", "3", "--concurrency", "3", "--seed", "1", "--json")
    simulated = ("--on", "sim", "--nemesis", "freeze", "--time-limit", "10")
    said = harness("test", *plugins, *words, *simulated, cwd=tmp_path)
    assert said.exit_code == 0, str(said)
    assert any("proof" in each for each in said.results["figures"]["faults"])
    assert "negative-offset" in {check["checker"] for check in said.results["checks"]}
    real = ("--on", "local", "--system", "my-broker", "--time-limit", "3", "--rate", "150")
    said = harness("test", *plugins, *words, *real, cwd=tmp_path)
    assert said.exit_code == 0, str(said)
