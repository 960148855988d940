"""Who logs in, and by what a host proves itself: keys made for one place, and gone with it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.cluster.capabilities import Node
from harness.cluster.netns.tools import must

IN_HOST = Path("/run/host")
"""Where a host finds its own files, beside a /run that is otherwise empty."""

_SSHD = f"""\
ListenAddress %s:22
HostKey {IN_HOST}/hostkey
AuthorizedKeysFile {IN_HOST}/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile none
UseDNS no
PrintMotd no
PrintLastLog no
MaxSessions 1000
MaxStartups 1000
Subsystem sftp internal-sftp
"""


def make_identities(directory: Path, management: Mapping[Node, str]) -> None:
    """In `directory`: key, known_hosts, and for each host a directory for its IN_HOST."""
    with ThreadPoolExecutor() as keys:
        made = [keys.submit(_make_key, directory / "key")]
        for node in management:
            (directory / node).mkdir()
            made.append(keys.submit(_make_key, directory / node / "hostkey"))
    for each in made:
        each.result()
    known = []
    for node, address in management.items():
        mine = directory / node
        known.append(f"{address} {(mine / 'hostkey.pub').read_text()}")
        (mine / "authorized_keys").write_text((directory / "key.pub").read_text())
        (mine / "sshd_config").write_text(_SSHD % address)
        (mine / "passwd").write_text(_accounts("/etc/passwd", "x:0:0:root:/run/host/home:/bin/sh"))
        # An account without a password may log in by key, one that is locked may not.
        (mine / "shadow").write_text(_accounts("/etc/shadow", "*:19000:0:99999:7:::"))
    (directory / "known_hosts").write_text("".join(known))


def _make_key(file: Path) -> None:
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", file.parent.name, "-f", str(file)]
    must(argv, why="make a key")


def _accounts(file: str, root: str) -> str:
    """This machine's, but for root: an empty home, so that no start-up file slows each command."""
    try:
        lines = Path(file).read_text().splitlines()
    except PermissionError:
        # Without root. Nobody but root logs in, so nobody else's password is missed.
        lines = []
    others = [line for line in lines if not line.startswith("root:")]
    return "\n".join([f"root:{root}", *others, ""])
