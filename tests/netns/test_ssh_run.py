"""A whole run on hosts over ssh, with the broker installed there from wheels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cluster.base import Place
from harness.run.plan import Plan
from harness.run.run import execute
from harness.run.watching import watcher_of
from harness.store.store import Store
from tests.netns.ssh_hosts import FarAway


def make_far_away(plan: Plan, directory: Path) -> Place:
    return FarAway(directory)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("nemesis", ["partition", "kill,disk:full"])
def test_a_run_is_the_same_on_hosts_over_ssh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nemesis: str
) -> None:
    monkeypatch.setattr("harness.run.stage.make_place", make_far_away)
    plan = Plan(
        on="ssh",
        nemesis=nemesis,
        nodes=3,
        concurrency=3,
        rate=100,
        time_limit_s=20,
        nemesis_interval_s=3,
        seed=1,
    )
    outcome = execute(
        plan, Store(tmp_path / "store"), watcher_of("", is_silent=True, has_color=False)
    )
    assert outcome.exit_code == 0, json.dumps(outcome.results(), indent=1)
