"""Where a run takes place and what it puts on trial, from its plan."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from harness.cluster.apache_kafka import ApacheKafka
from harness.cluster.installing import INSTALLED_BROKER
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.ssh.place import SshPlace
from harness.errors import EnvironmentFailure
from harness.run.plan import Plan
from harness.run.stage import Stage, make_place, make_system, play
from harness.schedule.faults import Kill, TamperMessages
from harness.schedule.schedule import Schedule


def ssh_plan(directory: Path, system: str = "reference") -> Plan:
    inventory = directory / "hosts.toml"
    inventory.write_text('[[hosts]]\naddress = "192.0.2.1"\nkey_file = "hosts.toml"\n')
    return Plan(on="ssh", inventory=str(inventory), system=system)


def test_ssh_takes_its_hosts_from_an_inventory(tmp_path: Path) -> None:
    place = make_place(ssh_plan(tmp_path), tmp_path)
    assert isinstance(place, SshPlace)
    with pytest.raises(EnvironmentFailure, match="--on ssh needs --inventory FILE"):
        make_place(Plan(on="ssh"), tmp_path)


def test_without_vagrant_no_virtual_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFailure, match="there is no vagrant here"):
        make_place(Plan(on="vagrant"), tmp_path)


@pytest.mark.parametrize(("name", "kind"), [("reference", ReferenceBroker), ("kafka", ApacheKafka)])
def test_far_away_the_broker_is_installed_and_here_it_is_not(
    tmp_path: Path, name: str, kind: type[ReferenceBroker]
) -> None:
    plan = ssh_plan(tmp_path, name)
    far = make_system(plan, make_place(plan, tmp_path))
    near = make_system(Plan(on="local", system=name), make_place(Plan(on="local"), tmp_path))
    assert type(far) is type(near) is kind
    assert (far._command, near._installer) == (INSTALLED_BROKER, None)
    assert far._installer is not None


def test_a_thread_that_never_returns_does_not_hold_up_the_end_of_a_run(tmp_path: Path) -> None:
    is_released = threading.Event()

    async def act(stage: Stage) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await asyncio.to_thread(is_released.wait, 30)
        return "done"

    begun_s = time.monotonic()
    with (tmp_path / "log").open("w") as log:
        played = play(Plan(on="local"), tmp_path, act, log)
    taken_s = time.monotonic() - begun_s
    is_released.set()
    assert played.result == "done"
    assert taken_s < 15


def test_a_schedule_that_tampers_with_messages_has_its_proxy(tmp_path: Path) -> None:
    """Without --nemesis wire: the faults come from the file."""
    drop = TamperMessages(
        name="w1", at_ms=0.0, match={"api": "OffsetCommit"}, action={"kind": "drop"}
    )
    kill = Kill(name="k1", at_ms=0.0, node="n1")
    for fault, has_wire in ((drop, True), (kill, False)):
        file = tmp_path / f"{fault.name}.json"
        Schedule(seed=1, nodes=3, faults=(fault,)).save(file)
        place = make_place(Plan(on="local", nemesis="none", schedule=str(file)), tmp_path)
        assert (place.wire is not None) == has_wire
