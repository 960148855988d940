"""tiny-log: a log server with a protocol of its own, its client, and how to put it on trial.

    harness test --plugin docs/examples/tiny_log.py --system tiny-log --nodes 1 --concurrency 10 \\
        -w queue --nemesis kill,partition

One file for each key, one line for each record; an append is acknowledged when it is synced, unless
--broker-config fsync=false. A request is a line of JSON, and so is its answer. Nothing is
replicated: with several nodes each key lives on one of them.
"""

import asyncio
import json
import os
import socket
import socketserver
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from zlib import crc32

from harness.client.base import ClientSettings, Completion, Invocation
from harness.cluster.base import Host, Place, RunningProcess
from harness.cluster.errors import RefusedConfigError
from harness.cluster.parts import NoParts
from harness.cluster.waiting import wait_until
from harness.registry import Registry

PORT = 4000


def register(registry: Registry) -> None:
    registry.system("tiny-log", TinyLog, about="an example", protocol="tiny-log", flushes=True)
    can_do = ("send", "poll", "assign", "end-offsets")
    registry.client("tiny-log", TinyClient, protocol="tiny-log", operations=can_do)


class Store:
    """The server's records, by key. What a crash left half written is cut off."""

    def __init__(self, directory: Path, *, fsync: bool) -> None:
        self.directory, self.fsync, self.lock = directory, fsync, threading.Lock()
        self.entries, self.files = os.open(directory, os.O_RDONLY), dict[str, Any]()
        self.records: dict[str, list[Any]] = {}
        for path in directory.glob("*.log"):
            lines = path.read_bytes().splitlines(keepends=True)
            whole = [line for line in lines if line.endswith(b"\n")]
            os.truncate(path, sum(map(len, whole)))
            self.records[path.stem] = [json.loads(line) for line in whole]

    def append(self, key: str, record: Any) -> dict[str, Any]:
        with self.lock:
            try:
                self.write(key, json.dumps(record).encode() + b"\n")
            except OSError:
                # Whether the record is on the disk is not known: the log must be read again.
                os._exit(1)
            self.records.setdefault(key, []).append(record)
            return {"offset": len(self.records[key]) - 1}

    def write(self, key: str, line: bytes) -> None:
        if key not in self.files:
            self.files[key] = (self.directory / f"{key}.log").open("ab", buffering=0)
            if self.fsync:  # the file's name, too, would be gone without power
                os.fsync(self.entries)
        self.files[key].write(line)
        if self.fsync:
            os.fsync(self.files[key].fileno())

    def read(self, key: str, start: int) -> dict[str, Any]:
        with self.lock:
            records = self.records.get(key, [])
            return {"records": records[start : start + 500], "end": len(records)}


def serve(port: int, directory: Path, *, fsync: bool) -> None:
    store = Store(directory, fsync=fsync)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                request = json.loads(line)
                answer = getattr(store, request.pop("do"))(**request)
                self.wfile.write(json.dumps(answer).encode() + b"\n")

    socketserver.ThreadingTCPServer.allow_reuse_address = True
    socketserver.ThreadingTCPServer(("", port), Handler).serve_forever()


class TinyLog(NoParts):
    """The system: how the harness starts a node, and finds out whether it is well."""

    name = "tiny-log"

    def __init__(self, place: Place, config: Mapping[str, str]) -> None:
        self.place, self.fsync = place, config.get("fsync", "true")
        self.processes: dict[str, RunningProcess] = {}
        if set(config) - {"fsync"} or self.fsync not in ("true", "false"):
            raise RefusedConfigError(f"tiny-log takes fsync=true or fsync=false, not {config}")

    async def install(self, node: str) -> None: ...

    async def configure(self, node: str) -> None: ...

    async def start(self, node: str) -> None:
        (output,) = self.logs(node)
        port, data = self.place.port_behind(node, PORT), self.host(node).data
        words = [sys.executable, __file__, str(port), str(data), self.fsync]
        self.processes[node] = await self.place.spawn(node, words, stdout=output, stderr=output)
        await wait_until(lambda: self.is_well(node), within_s=20, what=f"{node} serves")

    async def stop(self, node: str) -> None:
        await self.processes[node].terminate(within_s=10)

    def process(self, node: str) -> RunningProcess | None:
        return self.processes.get(node)

    async def is_well(self, node: str) -> bool:
        address = (self.host(node).address, self.place.port(node, PORT))

        def ask() -> bool:
            with suppress(OSError), socket.create_connection(address, timeout=2) as line:
                line.sendall(b'{"do": "read", "key": "", "start": 0}\n')
                return bool(line.recv(100))
            return False

        return await self.place.ask(ask)

    def bootstrap(self, nodes: Sequence[str]) -> str:
        return ",".join(f"{self.host(n).address}:{self.place.port(n, PORT)}" for n in nodes)

    def logs(self, node: str) -> Sequence[PurePosixPath]:
        return [self.host(node).home / "broker.log"]

    def host(self, node: str) -> Host:
        return next(host for host in self.place.hosts if host.node == node)


class TinyClient:
    """The client: one operation in, one honest outcome out."""

    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        self.settings, self.servers = settings, settings.bootstrap.split(",")
        self.lines: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self.positions: dict[str, int] = {}

    async def open(self) -> None: ...

    async def close(self) -> None:
        for _, writer in self.lines.values():
            writer.transport.abort()
        self.lines.clear()

    async def invoke(self, invocation: Invocation) -> Completion:
        f, value, self.is_sent = invocation.f, invocation.value, False
        try:
            async with asyncio.timeout(self.settings.request_timeout_ms / 1000):
                return Completion("ok", await self.done(f, value))
        except (OSError, EOFError) as error:
            await self.close()  # a late answer must not pass for that to the next request
            # Only an append that has left this process may have changed anything.
            is_unknown = f == "send" and self.is_sent
            return Completion("info" if is_unknown else "fail", value, repr(error))

    async def done(self, f: str, value: Any) -> Any:
        if f == "send":
            ((_, key, sent),) = value
            answer = await self.ask({"do": "append", "key": key, "record": sent})
            return [["send", key, [answer["offset"], sent]]]
        if f == "assign":
            known = value if isinstance(value, dict) else self.positions
            self.positions = {key: known.get(key) or 0 for key in value}
            return value
        asked = value if f == "end-offsets" and value else self.positions
        read = {k: {"do": "read", "key": k, "start": self.positions.get(k, 0)} for k in asked}
        answers = {key: await self.ask(request) for key, request in read.items()}
        if f == "end-offsets":
            ends = {key: answer["end"] for key, answer in answers.items()}
            return {"low": dict.fromkeys(ends, 0), "stable": ends, "high": ends}
        found = {key: answer["records"] for key, answer in answers.items() if answer["records"]}
        polled = {key: list(enumerate(found[key], self.positions[key])) for key in found}
        self.positions |= {key: records[-1][0] + 1 for key, records in polled.items()}
        await asyncio.sleep(0 if polled else self.settings.poll_ms / 1000)
        return [["poll", polled]]

    async def ask(self, request: dict[str, Any]) -> Any:
        server = self.servers[crc32(request["key"].encode()) % len(self.servers)]
        if server not in self.lines:
            host, _, port = server.rpartition(":")
            self.lines[server] = await asyncio.open_connection(host, int(port))
        reader, writer = self.lines[server]
        self.is_sent = True
        writer.write(json.dumps(request).encode() + b"\n")
        return json.loads(await reader.readuntil())


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]), fsync=sys.argv[3] == "true")
