"""harness test --on ssh, as it is typed: against an sshd in a network of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cluster.netns.tools import tool

ROOT = Path(__file__).parents[2]

SSHD = """\
ListenAddress 127.0.0.1:2222
HostKey {here}/hostkey
AuthorizedKeysFile {here}/key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
StrictModes no
PidFile none
UseDNS no
Subsystem sftp internal-sftp
"""

INVENTORY = """\
[defaults]
port = 2222
key_file = "key"
known_hosts = "known_hosts"
home = "{here}/home"

[[hosts]]
address = "127.0.0.1"
"""

# With its own network, but among this machine's processes: heal has to see who lives.
INSIDE = """
ip link set lo up
mkdir -p /run/sshd
setpriv --pdeathsig KILL {sshd} -D -e -f {here}/sshd_config 2>{here}/sshd.log &
"$@"
code=$?
kill $!
exit $code
"""


def lay_out(here: Path) -> None:
    for name in ("key", "hostkey"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(here / name)]
        subprocess.run(argv, check=True)
    (here / "sshd_config").write_text(SSHD.format(here=here))
    (here / "known_hosts").write_text(f"[127.0.0.1]:2222 {(here / 'hostkey.pub').read_text()}")
    (here / "hosts.toml").write_text(INVENTORY.format(here=here))


def harness(here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    inside = INSIDE.format(sshd=tool("sshd"), here=here)
    command = [sys.executable, "-m", "harness", *words, "--inventory", str(here / "hosts.toml")]
    return subprocess.run(
        ["unshare", "--net", "sh", "-c", inside, "inside", *command],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_by_an_inventory_alone(tmp_path: Path) -> None:
    lay_out(tmp_path)
    words = "test --on ssh --nodes 1 --replication-factor 1 --concurrency 2 --rate 50".split()
    words += "--nemesis kill --nemesis-interval 5 --time-limit 15 --seed 1".split()
    done = harness(tmp_path, *words, "--store", str(tmp_path / "store"))
    assert done.returncode == 0, done
    assert done.stdout.splitlines()[-1].startswith("run it again with: harness test")
    assert (tmp_path / "home" / "installed").is_symlink()


def test_fewer_hosts_than_nodes_are_told(tmp_path: Path) -> None:
    lay_out(tmp_path)
    done = harness(tmp_path, "test", "--on", "ssh", "--store", str(tmp_path / "store"))
    assert done.returncode == 254
    assert "names 1 hosts, and 5 are asked for; try --nodes 1" in done.stderr


def test_heal_tidies_up_on_the_hosts_of_an_inventory(tmp_path: Path) -> None:
    lay_out(tmp_path)
    left = tmp_path / "home" / "run" / "left"
    left.parent.mkdir(parents=True)
    left.touch()
    done = harness(tmp_path, "heal")
    assert done.returncode == 0, done
    assert "healed 1 hosts of" in done.stdout
    assert not left.exists()
