"""Rules for a host's firewall: all of them, nothing but ours, and never against ssh."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from harness.cluster.ssh.firewall import Cuts, no_rules, rules_left, set_rules

CUTS = Cuts(hears_not=["10.0.0.3", "10.0.0.2"], tells_not=["10.0.0.9"], ssh_port=2222)

needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root"
)


def test_nft_gets_everything_in_one_transaction() -> None:
    script = set_rules("nft", CUTS)
    assert script.count("nft -f -") == 1
    assert "input tcp dport 2222 accept\n" in script
    assert "output tcp sport 2222 accept\n" in script
    assert "input ip saddr { 10.0.0.2, 10.0.0.3 } drop" in script
    assert "output ip daddr { 10.0.0.9 } drop" in script
    assert script.index("accept") < script.index("drop")


def test_iptables_fills_its_chains_before_they_are_in_force() -> None:
    script = set_rules("iptables", CUTS)
    assert "-A LOG_TRIAL_IN -s 10.0.0.2 -j DROP\n-A LOG_TRIAL_IN -s 10.0.0.3 -j DROP" in script
    assert script.index("--dport 2222 -j RETURN") < script.index("-j DROP")
    assert script.index("COMMIT") < script.index("-I INPUT -j LOG_TRIAL_IN")


@pytest.mark.parametrize("command", ["nft", "iptables"])
@needs_namespaces
@pytest.mark.netns
def test_rules_come_and_go_as_often_as_one_likes(command: str) -> None:
    """In a network of its own, which ends with the command."""
    once = set_rules(command, CUTS) + rules_left(command) + "echo --\n"
    again = set_rules(command, Cuts(hears_not=["10.0.0.7"])) + rules_left(command) + "echo --\n"
    gone = no_rules(command) + no_rules(command) + rules_left(command)
    path = "PATH=$PATH:/usr/sbin:/sbin\n"
    done = subprocess.run(
        ["unshare", "--net", "sh", "-ec", path + no_rules(command) + once + again + gone],
        capture_output=True,
        text=True,
        check=True,
    )
    first, second, last = done.stdout.split("--\n")
    assert "10.0.0.2" in first
    assert "10.0.0.9" in first
    assert "10.0.0.7" in second
    assert "10.0.0.2" not in second
    assert last == ""
