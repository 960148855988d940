"""What a machine that cannot have hosts is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.netns import NetnsPlace, tools
from harness.errors import EnvironmentFailure


async def test_without_root_a_sentence_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    place = NetnsPlace(tmp_path)
    with pytest.raises(EnvironmentFailure, match=r"take root.* run it with sudo, or with --on"):
        await place.up(3)
    await place.down()


def test_a_missing_command_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(tools, "_found", lambda name: None if name in ("nft", "sshd") else name)
    with pytest.raises(EnvironmentFailure, match="apt-get install nftables openssh-server"):
        tools.check_machine()


async def test_a_directory_that_hosts_would_not_see_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.cluster.netns.fleet.check_machine", lambda: None)
    with pytest.raises(EnvironmentFailure, match="would not see /run/here"):
        await NetnsPlace(Path("/run/here")).up(1)


def test_a_command_that_fails_tells_why() -> None:
    with pytest.raises(EnvironmentFailure, match=r"cannot look: ls says .*no/such/file"):
        tools.must(["ls", "/no/such/file"], why="look")
