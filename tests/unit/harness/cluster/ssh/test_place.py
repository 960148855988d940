"""What a place over ssh can do, as its inventory says; the rest is told in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.cluster.capabilities import Capability
from harness.cluster.errors import NoAnswerError
from harness.cluster.inventory import Inventory, InventoryHost
from harness.cluster.ssh.host_keys import host_name, known_hosts_for
from harness.cluster.ssh.place import SshPlace
from harness.errors import EnvironmentFailure

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILIG2T/B0l0gaqj3puu510tu9N1OkQ4znY3LYuEm5zCF"


def host(number: int = 1, **fields: Any) -> InventoryHost:
    return InventoryHost(
        node=f"n{number}",
        **{"address": f"10.0.0.{number}", "key_file": Path("key"), "user": "me", **fields},
    )


def place_of(*hosts: InventoryHost) -> SshPlace:
    return SshPlace(Inventory(hosts, "hosts.toml"))


@pytest.mark.parametrize(
    ("capability", "fields", "word"),
    [
        ("network", {"sudo": True}, "sudo = true"),
        ("disk", {"data_dir": "/srv"}, "data_dir"),
        ("clock", {"sudo": True, "own_clock": True}, "own_clock = true"),
    ],
)
def test_each_host_has_to_allow_it(
    capability: Capability, fields: dict[str, Any], word: str
) -> None:
    allowed = place_of(host(1, **fields), host(2, **fields))
    assert allowed.why_not(capability) is None
    assert getattr(allowed, capability) is not None
    refused = place_of(host(1, **fields), host(2))
    assert word in (refused.why_not(capability) or "")
    assert getattr(refused, capability) is None


def test_processes_can_always_be_broken_and_messages_never() -> None:
    place = place_of(host())
    assert place.why_not("process") is None
    assert place.why_not("wire")


async def test_down_is_safe_before_it_was_ever_up() -> None:
    place = place_of(host(sudo=True, own_clock=True))
    await place.down()
    assert place.hosts == ()


@pytest.mark.parametrize("check_host_key", [True, False])
async def test_a_host_that_nobody_answers_for_is_told_by_name(
    tmp_path: Path, check_host_key: bool
) -> None:
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:1 {KEY}\n")
    unanswered = host(address="127.0.0.1", port=1, check_host_key=check_host_key, known_hosts=known)
    place = place_of(unanswered)
    with pytest.raises(NoAnswerError, match=r"n1 .* over ssh: .*Connection refused"):
        await place.up(1)
    await place.down()


def test_a_known_host_is_looked_up_as_ssh_does(tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text(f"[10.9.0.1]:2222 {KEY}\n10.0.0.1 {KEY}\n")
    other_port = host(management="10.9.0.1", port=2222, known_hosts=known)
    assert host_name(other_port) == "[10.9.0.1]:2222"

    def dial() -> Any:
        raise AssertionError("nobody has to be asked")

    assert known_hosts_for(other_port, dial, tmp_path) == known
    assert known_hosts_for(host(known_hosts=known), dial, tmp_path) == known
    with pytest.raises(EnvironmentFailure, match=r"ssh-keyscan -p 2223 10\.9\.0\.1"):
        known_hosts_for(host(management="10.9.0.1", port=2223, known_hosts=known), dial, tmp_path)
