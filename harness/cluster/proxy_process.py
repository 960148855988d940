"""The process of a place's proxy. It is told on its standard input, a line of JSON each time, and
answers each line with one:

    {"peers": {"10.77.0.1": "n1"}}      who lives where; everybody else is called by his address
    {"stand": {"node": "n1", "front": ["10.77.0.1", 9092], "behind": ["10.77.0.1", 19092],
               "pid": 77}}              from now on; in that process's namespace if one is named
    {"leave": "n1"}                     its doors are shut, and its connections gone
    {"add": {...}}                      a message fault
    {"remove": "name"}
    {"hits": "name"}                    answered by {"hits": 3}
    {"answers": "name"}                 answered by {"answers": {"NONE": 2, "PRODUCER_FENCED": 1}}

At the end of its input it ends, and every connection with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from harness.wire.match import MessageFaultError
from harness.wire.match_json import fault_from_json
from harness.wire.proxy import Proxy

_BACKLOG = 1024
_LINE_BYTES_MAX = 1 << 20

Open = Callable[[], socket.socket]


class ProxyProcess:
    def __init__(self) -> None:
        self._peers: dict[str, str] = {}
        self._proxy = Proxy(lambda address: self._peers.get(address, address))
        self._networks: dict[str, int] = {}

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        lines = asyncio.StreamReader(limit=_LINE_BYTES_MAX)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            try:
                answer = await self.obey(json.loads(line))
            except (OSError, MessageFaultError) as error:
                answer = {"error": str(error)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
        await self._proxy.close()

    async def obey(self, told: dict[str, Any]) -> dict[str, Any]:
        match told:
            case {"peers": peers}:
                self._peers.update(peers)
            case {"stand": door}:
                self._stand(door)
            case {"leave": node}:
                await self._proxy.leave(node)
                self._let_go(node)
            case {"add": fault}:
                self._proxy.add(fault_from_json(fault))
            case {"remove": name}:
                self._proxy.remove(name)
            case {"answers": name}:
                return {"answers": self._proxy.answers(name)}
            case {"hits": name}:
                if name not in self._proxy.known:
                    raise MessageFaultError(f"there never was a fault called {name!r}")
                return {"hits": self._proxy.hits(name)}
            case _:
                raise MessageFaultError(f"nobody here knows what {told} means")
        return {}

    def _stand(self, door: dict[str, Any]) -> None:
        node, behind = door["node"], tuple(door["behind"])
        open_socket = self._opener(node, door["pid"])
        listener = open_socket()
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(tuple(door["front"]))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise

        async def dial() -> socket.socket:
            dialled = open_socket()
            try:
                await asyncio.get_running_loop().sock_connect(dialled, behind)
            except BaseException:
                dialled.close()
                raise
            return dialled

        self._proxy.stand_before(node, listener, dial)

    def _opener(self, node: str, pid: int | None) -> Open:
        if pid is None:
            return _opened
        from harness.cluster.netns.namespaces import inside, network_of

        if node not in self._networks:
            self._networks[node] = network_of(pid)
        return lambda: inside(self._networks[node], _opened)

    def _let_go(self, node: str) -> None:
        network = self._networks.pop(node, None)
        if network is not None:
            os.close(network)


def _opened() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setblocking(False)
    return made


if __name__ == "__main__":
    asyncio.run(ProxyProcess().serve())
