"""A crowd of connections: each costs little, and whoever comes last is served like the first."""

import resource
import socket
import struct
from contextlib import ExitStack

import psutil
import pytest

from tests.clients.conftest import RunningBroker

COUNT = 10_000
BYTES_PER_CONNECTION_MAX = 8192
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


def ask_versions(connection: socket.socket) -> int:
    connection.sendall(API_VERSIONS)
    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    answer = connection.recv(size, socket.MSG_WAITALL)
    return int(struct.unpack_from(">h", answer, 4)[0])


@pytest.mark.clients
def test_ten_thousand_cost_little_and_are_served(own_broker: RunningBroker | None) -> None:
    assert own_broker is not None, "this one looks into the broker's process"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    host, port = own_broker.bootstrap.split(":")
    process = psutil.Process(own_broker.pid)
    with ExitStack() as crowd:
        first = crowd.enter_context(socket.create_connection((host, int(port)), timeout=30))
        assert ask_versions(first) == 0
        before = process.memory_info().rss
        connections = [
            crowd.enter_context(socket.create_connection((host, int(port)), timeout=30))
            for _ in range(COUNT)
        ]
        assert all(ask_versions(connection) == 0 for connection in connections)
        assert ask_versions(first) == 0
        grown = process.memory_info().rss - before
        assert grown < (4 << 20) + COUNT * BYTES_PER_CONNECTION_MAX
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
