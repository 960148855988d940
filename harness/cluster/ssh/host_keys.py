"""By what a host proves itself: the user's known hosts, or the key it showed at first."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

from harness.cluster.errors import NoAnswerError
from harness.cluster.inventory import InventoryHost
from harness.errors import EnvironmentFailure

_USUAL_PORT = 22
_WITHIN_S = 15.0


def known_hosts_for(
    host: InventoryHost, dial: Callable[[], socket.socket], directory: Path
) -> Path:
    """A file that names the host's key; a new one in `directory` if its key is not checked.

    Blocks. Raises EnvironmentFailure, with what to try, if the key should be known and is not.
    """
    if not host.check_host_key:
        learned = directory / f"{host.node}.known_hosts"
        learned.write_text(f"{host_name(host)} {_shown_key(host, dial)}\n")
        return learned
    from paramiko import HostKeys

    keys = HostKeys()
    if host.known_hosts.is_file():
        keys.load(str(host.known_hosts))
    if keys.lookup(host_name(host)) is None:
        port = f"-p {host.port} " if host.port != _USUAL_PORT else ""
        raise EnvironmentFailure(
            f"{host.known_hosts} knows no key of {host.node} ({host_name(host)}); try: "
            f"ssh-keyscan {port}{host.ssh_address} >>{host.known_hosts} and compare it with the "
            "host's own, or check_host_key = false in the inventory"
        )
    return host.known_hosts


def host_name(host: InventoryHost) -> str:
    """As known_hosts spells it."""
    if host.port == _USUAL_PORT:
        return host.ssh_address
    return f"[{host.ssh_address}]:{host.port}"


def _shown_key(host: InventoryHost, dial: Callable[[], socket.socket]) -> str:
    from paramiko import SSHException, Transport

    try:
        transport = Transport(dial())
        try:
            transport.start_client(timeout=_WITHIN_S)
            key = transport.get_remote_server_key()
        finally:
            transport.close()
    except (SSHException, OSError, EOFError) as error:
        raise NoAnswerError(f"{host.node} showed no host key over ssh: {error}") from None
    return f"{key.get_name()} {key.get_base64()}"
