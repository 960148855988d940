"""The processes of a run's clients load the plugins that the run has."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from harness.client.base import ClientSettings
from harness.cluster.local import LocalPlace
from harness.errors import EnvironmentFailure
from harness.history.recorder import Recorder
from harness.run.plan import Plan
from harness.run.tally import Tally
from harness.run.worker_clients import WorkerClients

PLUGIN = """
from harness.client.instant import InstantClient


class Loud(InstantClient):
    async def open(self):
        print("a client of the plugin")


def register(registry):
    registry.client("loud", lambda settings, client_id: Loud(), protocol="none")
"""


def opened(directory: Path, plugin: tuple[str, ...]) -> None:
    async def play() -> None:
        plan = Plan(client="loud", concurrency=1, plugin=plugin)
        tally = Tally(Recorder(directory / "history"), time.monotonic_ns())
        settings = ClientSettings(bootstrap="nobody:9092")
        workers = WorkerClients(LocalPlace(directory), plan, settings, tally, directory / "clients")
        try:
            await workers.open()
        finally:
            await workers.close()
            tally.close()

    asyncio.run(play())


def test_a_client_of_a_plugin_is_made_in_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    opened(tmp_path, ("loud.py",))
    assert "a client of the plugin" in (tmp_path / "clients" / "c1.log").read_text()


def test_without_the_plugin_nobody_knows_the_client(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="unknown client 'loud'"):
        opened(tmp_path, ())
