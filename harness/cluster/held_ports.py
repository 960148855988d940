"""Ports of loopback that stay ours from the choice to the end, whoever listens on them meanwhile.

A quorum's members must know each other's ports before any of them runs, and a node must come back
on the port it had. Choosing a free port and letting go of it loses both: any process may take it in
between. So each port stays bound, by a socket that never listens. Linux lets a second socket bind
and listen there, since both carry SO_REUSEADDR and only one listens (asyncio, the reference broker
and Java all set it on their listeners), and gives the port to nobody else: not to a bind to port 0,
not to an outgoing connection. While the node is down, a connection is refused, as it should be; and
no client can connect to itself, which happens on loopback when the port it wants is free and gets
chosen as its own.
"""

from __future__ import annotations

import socket

LOOPBACK = "127.0.0.1"


class HeldPorts:
    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def hold(self) -> int:
        holder = socket.socket()
        self._held.append(holder)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((LOOPBACK, 0))
        port: int = holder.getsockname()[1]
        return port

    def release(self) -> None:
        while self._held:
            self._held.pop().close()
