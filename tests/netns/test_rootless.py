"""Hosts in a user namespace: what works without root, and what is refused with a sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cluster.netns.rootless import become_root
from harness.errors import EnvironmentFailure

ROOT = Path(__file__).parents[2]

# The test, which is root, maps the ids; a user would have newuidmap do it.
ENTERS = """
import ctypes, os, sys
new_user_and_mount = 0x10000000 | 0x20000
assert ctypes.CDLL(None).unshare(new_user_and_mount) == 0
print("in", flush=True)
sys.stdin.readline()
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""

HARNESS = """
import asyncio, sys
from pathlib import Path
from harness.cluster.capabilities import DISK_FAULTS, PacketFault
from harness.cluster.errors import FaultMissedError
from harness.cluster.netns import heal
from harness.cluster.netns.rootless import is_rootless
from tests.netns.places import disks_of, hosts, network_of, shown, started
from tests.netns.test_hosts import SLEEPS

async def main():
    assert is_rootless()
    async with hosts(Path(sys.argv[1]), 2) as place:
        network, disks = network_of(place), disks_of(place)
        assert await shown(place, "n2", "hostname") == "n2"
        everybody = await network.reachable()
        assert len(everybody) == 6
        await network.cut([("n1", "n2")])
        assert await network.reachable() == everybody - {("n1", "n2")}
        await network.heal()
        await network.shape([("n1", "n2")], PacketFault(delay_ms=20))
        await network.heal()
        process = await started(place, "n1", SLEEPS)
        await process.pause()
        await process.kill()
        await disks.fill("n1")
        await disks.heal()
        refused = [fault for fault in DISK_FAULTS if disks.why_not(fault)]
        assert refused == ["slow", "fail", "read-only", "power"], refused
        try:
            await disks.lose_power("n1")
        except FaultMissedError as error:
            assert "without root" in str(error)
        else:
            raise AssertionError("a host in memory lost power")
        assert await place.ask(lambda: "an answer") == "an answer"
    heal()
    print("done", flush=True)

asyncio.run(main())
"""


def test_a_user_namespace_has_hosts_too(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENTERS, HARNESS, str(tmp_path)],
        cwd=ROOT,
        env={"XDG_RUNTIME_DIR": str(tmp_path / "runtime"), "PATH": "/usr/bin:/bin:/usr/sbin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "in\n"
        for ids in ("uid_map", "gid_map"):
            Path(f"/proc/{harness.pid}/{ids}").write_text("0 0 65536")
        said, complaint = harness.communicate("go\n", timeout=60)
    assert said == "done\n", complaint
    assert harness.returncode == 0, complaint
    assert list((tmp_path / "runtime").iterdir()) == [], "not even an empty directory is left"


def test_a_machine_without_user_namespaces_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.cluster.netns.rootless._ENTER", ("--no-such-option",))
    with pytest.raises(EnvironmentFailure, match=r"use sudo, or: apt-get install uidmap"):
        become_root(["-m", "harness"])
