"""Clocks of hosts: moved, measured and set right. Here a file stands for the clock."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.cluster.errors import FaultMissedError
from harness.cluster.ssh import clocks as clocks_module
from harness.cluster.ssh.clocks import HostClocks
from tests.unit.harness.cluster.ssh.shells import remote_host

# What sets the clock sets a file instead, and `date` reads it.
SHIFT = """
import os
def shift(by_s):
    with open("{offset}") as file:
        now = float(file.read())
    with open("{offset}.new", "w") as file:
        file.write(str(now + by_s))
    os.replace("{offset}.new", "{offset}")
"""
SKEW = """
import os, sys, time
while os.path.exists(sys.argv[1]):
    shift(float(sys.argv[2]) - 1)
    time.sleep(0.01)
"""
DATE = """
awk -v now=$(/bin/date +%s.%N) -v by=$(cat {offset}) 'BEGIN {{ printf "%.6f", now + by }}'
"""
SYSTEMCTL = """echo "$@" >>{calls}; [ "$1" != is-active ] || [ "$3" = chrony ]"""


@pytest.fixture
def clocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostClocks:
    host, shell = remote_host(tmp_path, user="root", own_clock=True)
    Path(host.home).mkdir(parents=True)
    offset = tmp_path / "offset"
    offset.write_text("0")
    shell.has_instead("date", DATE.format(offset=offset))
    shell.has_instead("systemctl", SYSTEMCTL.format(calls=tmp_path / "calls"))
    shift = SHIFT.format(offset=offset)
    monkeypatch.setattr(clocks_module, "_SHIFT", shift + "shift({by_s!r})")
    monkeypatch.setattr(clocks_module, "_SKEW", shift + SKEW)
    return HostClocks({"n1": host})


async def test_a_jump_is_measured_and_healed(clocks: HostClocks, tmp_path: Path) -> None:
    await clocks.jump("n1", 30.0)
    assert await clocks.offset_s("n1") == pytest.approx(30, abs=0.5)
    await clocks.jump("n1", -60.0)
    assert await clocks.offset_s("n1") == pytest.approx(-30, abs=0.5)
    await clocks.heal()
    assert await clocks.offset_s("n1") == pytest.approx(0, abs=0.5)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls.count("stop chrony") == 1, "the second jump finds it stopped"
    assert calls[-1] == "start chrony"


async def test_what_a_dead_run_has_stopped_is_started_again(
    clocks: HostClocks, tmp_path: Path
) -> None:
    await clocks.open()
    assert not (tmp_path / "calls").exists(), "it had stopped nothing"
    await clocks.jump("n1", 30.0)
    await HostClocks(clocks._hosts).open()
    assert (tmp_path / "calls").read_text().splitlines()[-1] == "start chrony"


async def test_a_jump_that_does_not_happen_has_missed(
    clocks: HostClocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks_module, "_SHIFT", "pass # {by_s}")
    with pytest.raises(FaultMissedError, match="was to jump by 30 s and moved by"):
        await clocks.jump("n1", 30.0)


async def test_a_skew_goes_on_until_it_is_healed(clocks: HostClocks) -> None:
    await clocks.skew("n1", 1.5)
    first = await clocks.offset_s("n1")
    while await clocks.offset_s("n1") < first + 2:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0.01)
    await clocks.heal()
    assert await clocks.offset_s("n1") == pytest.approx(0, abs=0.5)


async def test_a_clock_that_is_not_ours_is_let_be(tmp_path: Path) -> None:
    host, shell = remote_host(tmp_path, user="root")
    clocks = HostClocks({"n1": host})
    with pytest.raises(FaultMissedError, match="the clock of n1 is not its own to set"):
        await clocks.jump("n1", 1.0)
    await clocks.heal()
    assert shell.scripts == []
