"""An inventory is read whole, or refused with the place of the mistake and what to try."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.inventory import Inventory, InventoryError, load_inventory

WHOLE = """
[defaults]
user = "admin"
key_file = "key"
sudo = true

[[hosts]]
address = "10.0.0.1"

[[hosts]]
node = "west"
address = "10.0.0.2"
management = "10.9.0.2"
port = 2222
user = "root"
sudo = false
data_dir = "/srv/data"
own_clock = true
"""


def load(directory: Path, text: str) -> Inventory:
    (directory / "key").write_text("secret")
    file = directory / "hosts.toml"
    file.write_text(text)
    return load_inventory(file)


def test_a_host_has_what_it_says_then_the_defaults_then_ours(tmp_path: Path) -> None:
    first, second = load(tmp_path, WHOLE).hosts
    assert (first.node, first.address, first.user, first.port) == ("n1", "10.0.0.1", "admin", 22)
    assert first.key_file == tmp_path / "key"
    assert first.has_root
    assert first.check_host_key
    assert first.ssh_address == "10.0.0.1"
    assert not first.own_clock
    assert (second.node, second.ssh_address, second.port) == ("west", "10.9.0.2", 2222)
    assert not second.sudo
    assert second.has_root
    assert second.data_dir == "/srv/data"
    assert second.own_clock


HOST = '[[hosts]]\nkey_file = "key"\naddress = "a"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[hosts]\n", "hosts.toml is no TOML: Expected ']]' at the end of an array declaration"),
        ("", "hosts.toml: hosts names nobody; try [[hosts]] and an address"),
        ("hosts = 3", "hosts.toml: hosts names nobody"),
        ("hosts = [3]", "hosts.toml: hosts[1] is no table"),
        ("defaults = 3\n" + HOST, "hosts.toml: defaults is no table"),
        ('[[hosts]]\nkey_file = "key"\n', "hosts.toml:1: hosts[1].address is missing"),
        (HOST + "prot = 3", "hosts.toml:1: hosts[1].prot means nothing; try port"),
        ("[host]\n" + HOST, "hosts.toml: host means nothing; try hosts"),
        ("[defaults]\naddress='b'\n" + HOST, "hosts.toml: defaults.address means nothing"),
        (HOST + HOST, "hosts.toml: two hosts have the address a; each needs its own"),
        (HOST + HOST + "port = 70000", "hosts.toml:4: hosts[2].port is 70000; try a number"),
        (HOST + "port = true", "hosts[1].port is True"),
        (HOST + "sudo = 'yes'", "hosts[1].sudo is 'yes'; try true or false, without quotes"),
        (HOST + "user = ''", "hosts[1].user is ''"),
        (HOST + "home = 'x'", "hosts[1].home is 'x'; try one that begins with / or with ~/"),
        (HOST + "node = 'clients'", "hosts[1].node is 'clients', which is no name for a node"),
        (HOST + "node = 'n 1'", "hosts[1].node is 'n 1'"),
        ('[[hosts]]\nkey_file = "no"\naddress = "a"', "and there is no such file"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InventoryError) as refused:
        load(tmp_path, text)
    assert told in str(refused.value)


def test_a_file_that_is_not_there_is_told_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(InventoryError, match=r"hosts.toml: No such file .*inventory.example"):
        load_inventory(tmp_path / "hosts.toml")


def test_more_nodes_than_hosts_are_refused(tmp_path: Path) -> None:
    inventory = load(tmp_path, WHOLE)
    assert [host.node for host in inventory.first(1)] == ["n1"]
    with pytest.raises(InventoryError, match="names 2 hosts, and 5 are asked for; try --nodes 2"):
        inventory.first(5)


def test_without_a_key_file_the_users_own_key_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    text = "[[hosts]]\naddress = 'a'"
    with pytest.raises(InventoryError, match=r"~/.ssh holds no key; try ssh-keygen"):
        load(tmp_path, text)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_rsa").write_text("secret")
    (host,) = load(tmp_path, text).hosts
    assert host.key_file == tmp_path / ".ssh" / "id_rsa"
    assert host.known_hosts == tmp_path / ".ssh" / "known_hosts"
