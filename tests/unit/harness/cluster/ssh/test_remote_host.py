"""A host settles: leftovers go, directories are new, and who may be root is asked for tools."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.cluster.errors import NodeFailedError
from harness.errors import EnvironmentFailure
from tests.unit.harness.cluster.ssh.shells import remote_host


async def test_it_ends_what_stands_in_its_home_and_begins_anew(tmp_path: Path) -> None:
    host, _ = remote_host(tmp_path, user="me")
    home = tmp_path / "base" / "run"
    home.mkdir(parents=True)
    (home / "old").touch()
    (tmp_path / "base" / "installed").mkdir()
    left = await asyncio.create_subprocess_exec("sleep", "600", cwd=home)
    spared = await asyncio.create_subprocess_exec("sleep", "600", cwd=tmp_path)
    await host.settle()
    assert await left.wait() == -9
    assert spared.returncode is None
    spared.kill()
    await spared.wait()
    assert Path(host.home) == home
    assert list(home.iterdir()) == []
    assert Path(host.data) == tmp_path / "base" / "data" / "log-trial"
    assert (tmp_path / "base" / "installed").is_dir(), "what is installed stays"
    assert host.firewall == "", "without root there is none to ask for"


async def test_a_tilde_is_the_users_home_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    host, _ = remote_host(tmp_path, user="me", home="~/a place/of ours")
    await host.settle()
    assert Path(host.home) == tmp_path / "a place" / "of ours" / "run"


async def test_a_home_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    host, _ = remote_host(tmp_path, user="me", home=str(tmp_path / "file" / "x"))
    with pytest.raises(EnvironmentFailure, match="n1 has no place for a run below"):
        await host.settle()


async def test_root_without_a_firewall_is_told_what_to_install(tmp_path: Path) -> None:
    host, shell = remote_host(tmp_path, user="root")
    # A shell that is started by another one is the one that looks for the commands.
    shell.has_instead("sh", "echo none")
    with pytest.raises(EnvironmentFailure, match=r"neither nft nor iptables.*nftables"):
        await host.settle()


async def test_root_is_had_by_sudo_unless_one_is_root(tmp_path: Path) -> None:
    host, shell = remote_host(tmp_path, user="me", sudo=True)
    shell.has_instead("sudo", '[ "$1" = -n ] && shift && SUDO=1 "$@"')
    answer = await host.as_root("echo $SUDO 'and quotes'")
    assert answer.stdout == "1 and quotes\n"
    host, shell = remote_host(tmp_path, user="root")
    assert (await host.as_root("echo plainly")).stdout == "plainly\n"
    assert "sudo" not in shell.scripts[-1]


async def test_a_sudo_that_wants_a_password_is_told(tmp_path: Path) -> None:
    host, shell = remote_host(tmp_path, user="me", sudo=True)
    shell.has_instead("sudo", "echo sudo: a password is required >&2; exit 1")
    with pytest.raises(NodeFailedError, match=r"as root .*: sudo: a password is required"):
        await host.settle()


async def test_what_root_fails_to_do_is_told(tmp_path: Path) -> None:
    host, _ = remote_host(tmp_path, user="root")
    with pytest.raises(NodeFailedError, match=r"n1 could not do as root .*: oh no"):
        await host.as_root("echo oh no >&2; false; true")
