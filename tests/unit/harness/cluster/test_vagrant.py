"""vagrant: what it says becomes an inventory, and without it there is a sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.cluster.inventory import load_inventory
from harness.cluster.vagrant import DIRECTORY, inventory_from, vagrant_place
from harness.errors import EnvironmentFailure

SSH_CONFIG = """
Host n1
  HostName 192.168.121.16
  User vagrant
  Port 22
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  IdentityFile "/home/me/my keys/n1"
  IdentitiesOnly yes
  LogLevel FATAL

Host n2
  HostName 127.0.0.1
  User vagrant
  Port 2201
  IdentityFile /home/me/n2

"""

FAKE = """#!/bin/sh
echo "$NODES $*" >>calls
[ "$1" = up ] || exec cat ssh-config
exit $(cat exit-code 2>/dev/null || echo 0)
"""


def fake_vagrant(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (directory / "Vagrantfile").touch()
    (directory / "ssh-config").write_text(SSH_CONFIG)
    vagrant = directory / "vagrant"
    vagrant.write_text(FAKE)
    vagrant.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


def test_ssh_config_becomes_an_inventory() -> None:
    first, second = inventory_from(SSH_CONFIG).hosts
    assert (first.node, first.address, first.management) == (
        "n1",
        "192.168.56.11",
        "192.168.121.16",
    )
    assert first.key_file == Path("/home/me/my keys/n1")
    assert first.has_root
    assert first.own_clock
    assert (second.address, second.management, second.port) == ("192.168.56.12", "127.0.0.1", 2201)


def test_a_vagrant_that_tells_of_nobody_is_refused() -> None:
    with pytest.raises(EnvironmentFailure, match="tells of no machine"):
        inventory_from("Host other\n  Port 22\n")


def test_without_vagrant_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFailure, match=r"no vagrant here; try: apt-get .* --on netns"):
        vagrant_place()


def test_what_the_machines_can_do_is_known_before_they_are_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_vagrant(tmp_path, monkeypatch)
    place = vagrant_place(tmp_path)
    assert place.name == "vagrant"
    assert [place.why_not(one) for one in ("network", "process", "disk", "clock")] == [None] * 4
    assert place.why_not("wire")


async def test_a_failed_start_is_told_in_vagrants_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_vagrant(tmp_path, monkeypatch)
    (tmp_path / "exit-code").write_text("3")
    place = vagrant_place(tmp_path)
    with pytest.raises(EnvironmentFailure, match="vagrant up failed; it said"):
        await place.up(2)
    await place.down()
    assert (tmp_path / "calls").read_text() == "2 up n1 n2\n"


async def test_more_machines_than_described_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_vagrant(tmp_path, monkeypatch)
    with pytest.raises(EnvironmentFailure, match="describes 9 machines, and 12 are asked for"):
        await vagrant_place(tmp_path).up(12)


def test_the_addresses_of_the_vagrantfile_are_those_we_expect() -> None:
    text = (DIRECTORY / "Vagrantfile").read_text()
    assert 'ip: "192.168.56.#{10 + number}"' in text
    assert "between?(1, 9)" in text


def test_the_example_of_an_inventory_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519").touch()
    hosts = load_inventory(DIRECTORY / "inventory.example.toml").hosts
    assert [host.node for host in hosts] == ["n1", "n2", "n3"]


def test_the_provision_script_is_sound_shell() -> None:
    subprocess.run(["sh", "-n", str(DIRECTORY / "provision.sh")], check=True)


def test_vagrant_accepts_the_vagrantfile() -> None:
    vagrant = shutil.which("vagrant")
    if vagrant is None:
        pytest.skip("vagrant is not installed")
    subprocess.run([vagrant, "validate"], cwd=DIRECTORY, check=True)
