"""A small cluster of processes: what its users see of the quorum, of waiting and of failures."""

from __future__ import annotations

import asyncio
import errno
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from broker.active_controller import ActiveController
from broker.node import Node
from tests.unit.broker.cli.conftest import Run
from tests.unit.broker.cli.homes import formatted, make_home
from tests.unit.broker.cli.processes import (
    end,
    free_ports,
    launched,
    started,
    wait_for_log,
)

ONE = "AAAAAAAAAAAAAAAAAAAAAA"


def caught_up(broker: Run, at: tuple[str, str]) -> dict[str, Any]:
    """The quorum once no observer is behind: the broker's own registration is a change, too."""
    until = time.monotonic() + 30
    while True:
        told: dict[str, Any] = json.loads(broker("quorum", "describe", *at, "--json").out)
        if not any(each["lag"] for each in told["observers"]) or time.monotonic() > until:
            return told


def test_the_quorum_is_described_with_its_voters_and_observers(broker: Run, tmp_path: Path) -> None:
    [port] = free_ports(1)
    controller = make_home(tmp_path / "controller", 1, port, "controller", {1: port})
    other = make_home(tmp_path / "broker", 2, 0, "broker", {1: port})
    for home in (controller, other):
        formatted(broker, home, ONE)
    with started(controller), started(other) as (process, address):
        at = ("--bootstrap-server", address)
        told = caught_up(broker, at)
        assert (told["leaderId"], told["leaderEpoch"]) == (1, 1)
        [voter], [observer] = told["voters"], told["observers"]
        assert (voter["nodeId"], voter["lag"]) == (1, 0)
        assert voter["logEndOffset"] == told["highWatermark"] > 0
        assert (observer["nodeId"], observer["lag"]) == (2, 0)
        assert observer["lastFetchTimestamp"] > 0
        first, *rest = broker("quorum", "describe", *at).out.splitlines()
        assert first.startswith("leader: 1  epoch: 1  high watermark: ")
        assert [line.split("  log end")[0] for line in rest] == ["  voter: 1", "  observer: 2"]

        assert broker("topics", "create", *at, "t").code == 0
        described = broker("topics", "describe", *at, "t").out
        assert "leader: 2  epoch: 0  replicas: 2  isr: 2  elr: none" in described
        assert end(process, signal.SIGTERM) == 0


def test_a_node_without_a_quorum_is_not_ready_and_can_be_ended(broker: Run, tmp_path: Path) -> None:
    ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
    home = make_home(tmp_path / "node", 1, ports[1], "broker,controller", ports)
    formatted(broker, home, ONE)
    with launched(home) as process:
        wait_for_log(home, "quorum: ")
        assert end(process, signal.SIGTERM) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""
    assert (home / "data" / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_controller_alone_ends_by_signals_as_a_broker_does(
    broker: Run, tmp_path: Path, number: signal.Signals
) -> None:
    [port] = free_ports(1)
    home = make_home(tmp_path / "controller", 1, port, "controller", {1: port})
    formatted(broker, home, ONE)
    with started(home) as (process, address):
        assert address == f"127.0.0.1:{port}"
        assert end(process, number) == (0 if number is signal.SIGTERM else 130)


def test_a_node_that_cannot_go_on_ends_with_255_and_says_why(
    broker: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker("format", "--config", home / "server.properties")
    start = Node.start

    async def start_and_fail_soon(*args: Any, **options: Any) -> Node:
        node = await start(*args, **options)
        problem = OSError(errno.EIO, "Input/output error", "__cluster_metadata-0")
        asyncio.get_running_loop().call_later(0.05, node.fail, problem)
        return node

    monkeypatch.setattr(Node, "start", start_and_fail_soon)
    ran = broker("start", "--config", home / "server.properties")
    assert ran.code == 255
    assert ran.out.startswith("ready on ")
    assert ran.err.splitlines()[-1] == (
        "stopped, for it cannot go on: __cluster_metadata-0: Input/output error; the device fails; "
        "look at the kernel's log"
    )


def test_an_error_of_our_own_is_told_as_what_it_is(
    broker: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker("format", "--config", home / "server.properties")

    async def break_down(*args: Any, **options: Any) -> None:
        raise AssertionError("this cannot be")

    monkeypatch.setattr(ActiveController, "run", break_down)
    with pytest.raises(AssertionError, match="this cannot be"):
        broker("start", "--config", home / "server.properties")
