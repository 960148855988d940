"""A run that crashes: what it has is kept, and can be read and judged as any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli import cli
from harness.run.plan import Plan
from harness.run.run import _Run, execute
from harness.run.watching import Silent
from harness.store.store import Store

PLAN = Plan(on="sim", seed=3, nodes=1, concurrency=2, rate=40.0, time_limit_s=2.0,
            replication_factor=1)  # fmt: skip


def said(command: str, store: Path, *words: str) -> str:
    done = CliRunner().invoke(cli, [command, "--store", str(store), *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


def test_a_run_that_crashes_leaves_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"

    async def crashes(*_: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr(_Run, "_calm", crashes)
    with pytest.raises(RuntimeError, match="a bug of ours"):
        execute(PLAN, Store(store), Silent())
    results = json.loads((store / "latest" / "results.json").read_text())
    assert results["valid"] == "unknown"
    assert results["figures"]["crash"]["type"] == "RuntimeError"
    assert results["figures"]["crash"]["message"] == "a bug of ours"
    assert any("crashes" in line for line in results["figures"]["crash"]["traceback"])
    assert results["figures"]["ok"] > 20, "what it had counted"
    checked = {check["checker"] for check in results["checks"]}
    assert "duplicate" in checked
    assert "unseen" not in checked, "nobody tried to read it all"
    assert "unknown" in said("ls", store)
    judged = json.loads(said("analyze", store, "--json", "latest"))
    assert judged["figures"]["crash"]["type"] == "RuntimeError"


def test_a_run_that_cannot_even_be_judged_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"

    def crashes(*_: object) -> None:
        raise RuntimeError("no cluster")

    monkeypatch.setattr("harness.run.run.play", crashes)
    monkeypatch.setattr("harness.run.judging.History.load", crashes)
    with pytest.raises(RuntimeError, match="no cluster"):
        execute(PLAN, Store(store), Silent())
    results = json.loads((store / "latest" / "results.json").read_text())
    assert results["valid"] == "unknown"
    assert results["figures"]["crash"]["message"] == "no cluster"
    assert "unknown" in said("ls", store)
