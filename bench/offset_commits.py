"""How many offset commits a second a broker takes, and what one costs it, by raw requests.

Each connection commits the offset of one partition, waits for the answer, and commits the next one.
Every connection has a group of its own, or all of them share one, and so a partition.
"""

from __future__ import annotations

import selectors
import socket
import time
from dataclasses import dataclass
from struct import Struct
from typing import Any

from bench.measure import LoadError, cpu_s
from bench.systems import System
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode

TOPIC = "t"
VERSION = 8
_LENGTH = Struct(">i").unpack_from
_ERROR_OF_ONE_PARTITION = -5
"""Where the error code begins, from the end of an answer with one topic and one partition."""


@dataclass(frozen=True)
class Commits:
    per_s: float
    cpu_us_each: float
    """CPU time of the server."""


def measure(system: System, connections: int, seconds: float, *, one_group: bool) -> Commits:
    client = _Client(system.bootstrap, connections, one_group)
    try:
        client.commit_for(max(1.0, seconds / 2))  # warms the JVM up
        before_s, begun = cpu_s(system.pids), time.monotonic()
        count = client.commit_for(seconds)
        took_s, used_s = time.monotonic() - begun, cpu_s(system.pids) - before_s
    finally:
        client.close()
    return Commits(per_s=count / took_s, cpu_us_each=used_s / count * 1e6)


class _Client:
    """Knows its frames beforehand, and looks at nothing but the error code of an answer."""

    def __init__(self, bootstrap: str, connections: int, one_group: bool) -> None:
        self._address = (bootstrap.split(":")[0], int(bootstrap.split(":")[1]))
        created = _ask(self._address, ApiKey.CREATE_TOPICS, 7, _topic())
        assert created.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        groups = ["g"] if one_group else [f"g{number}" for number in range(connections)]
        for group in groups:
            self._wait_for(group)
        self._selector = selectors.DefaultSelector()
        self._sockets = []
        for number in range(connections):
            connection = socket.create_connection(self._address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            frame = _frame(ApiKey.OFFSET_COMMIT, VERSION, _commit(groups[number % len(groups)]))
            self._selector.register(connection, selectors.EVENT_READ, frame)
            self._sockets.append(connection)

    def _wait_for(self, group: str) -> None:
        """Until the group has a coordinator that has loaded."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            body = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
            _ask(self._address, ApiKey.FIND_COORDINATOR, 4, body)
            answer = _ask(self._address, ApiKey.OFFSET_COMMIT, VERSION, _commit(group))
            if not answer.topics[0].partitions[0].error_code:
                return
            time.sleep(0.1)
        raise LoadError(f"group {group} found no coordinator")

    def commit_for(self, seconds: float) -> int:
        for key in list(self._selector.get_map().values()):
            key.fileobj.send(key.data)  # type: ignore[union-attr]
        until, count, under_way = time.monotonic() + seconds, 0, len(self._sockets)
        while under_way:
            is_over = time.monotonic() >= until
            for key, _ in self._selector.select():
                answer = key.fileobj.recv(4096)  # type: ignore[union-attr]
                assert len(answer) == 4 + _LENGTH(answer)[0], "an answer in pieces"
                assert answer[_ERROR_OF_ONE_PARTITION : _ERROR_OF_ONE_PARTITION + 2] == b"\0\0"
                count += 1
                if is_over:
                    under_way -= 1
                else:
                    key.fileobj.send(key.data)  # type: ignore[union-attr]
        return count

    def close(self) -> None:
        for each in self._sockets:
            each.close()


def _topic() -> m.CreateTopicsRequest:
    topic = m.CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
    return m.CreateTopicsRequest(timeout_ms=10_000, topics=[topic])


def _commit(group: str) -> m.OffsetCommitRequest:
    part = m.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1 << 40, committed_metadata=""
    )
    topic = m.OffsetCommitRequestTopic(name=TOPIC, partitions=[part])
    return m.OffsetCommitRequest(group_id=group, topics=[topic])


def _frame(key: ApiKey, version: int, body: Any) -> bytes:
    header = m.RequestHeader(api_key=key, api_version=version, correlation_id=7, client_id="bench")
    return b"".join(frames.request_frame(header, codec.encode_request(key, version, body)))


def _ask(address: tuple[str, int], key: ApiKey, version: int, body: Any) -> Any:
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(_frame(key, version, body))
        reader = connection.makefile("rb")
        (length,) = _LENGTH(reader.read(4))
        frame = memoryview(reader.read(length))
    _, at = frames.decode_response_header(key, version, frame)
    answer, _ = codec.decode_response(key, version, frame, at)
    return answer
