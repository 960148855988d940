"""harness serve: the stored runs in a browser."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import click

from harness.cli.stored import STORE_OPTION


@click.command("serve")
@STORE_OPTION
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Address to listen on; any other shows the runs to other machines.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True,
              help="Port to listen on; 0 for any free port.")  # fmt: skip
def serve(store_root: Path, host: str, port: int) -> int:
    """Show the stored runs in a browser: a list, their reports, and comparisons."""
    from harness.errors import EnvironmentFailure
    from harness.store.store import Store
    from reports.server import Served

    if not host:
        raise click.BadParameter("the address is empty; try 127.0.0.1", param_hint="--host")
    store = Store(store_root)
    try:
        server = Served(store_root, lambda: list(store.runs()), host, port)
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise click.BadParameter(
                f"{host!r} is not an address of this machine: {error.strerror}; try 127.0.0.1",
                param_hint="--host",
            ) from None
        raise EnvironmentFailure(
            f"{host}:{port}: {error.strerror}; choose another --port"
        ) from None
    with server:
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"http://{shown}:{server.server_port}/")
        server.serve_forever()
    return 0
