"""What becomes of each request of our client: its version, the node that answered, error codes.

Libraries hide this. A request that was answered with an error, or not at all, has a line of its
own; the others are counted, and each second one line for each node and API says how many there
were. Whenever the client learns of another leader, a line says which, and of which epoch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.native.errors import known_code

_EVERY_NS = 1_000_000_000
_CODES = ("error_code", "partition_error_code")


class Asked(NamedTuple):
    """A request that has ended."""

    node: str
    key: ApiKey
    version: int
    in_flight: int
    """Requests on its connection without an answer when it was sent, itself among them."""
    took_s: float


@dataclass(slots=True)
class _Counted:
    count: int = 0
    in_flight_max: int = 0
    took_s_max: float = 0.0


class RequestLog:
    def __init__(self, write: Callable[[str], None], now_ns: Callable[[], int]) -> None:
        """`write` takes one line of JSON, without its end. `now_ns` is the clock of the history."""
        self._write = write
        self._now_ns = now_ns
        self._counted: dict[tuple[str, ApiKey, int], _Counted] = {}
        self._since_ns = now_ns()

    def answered(self, asked: Asked, body: Any) -> None:
        codes = sorted({known_code(code).name for code in _codes(body) if code != ErrorCode.NONE})
        if codes:
            self._ended(asked, errors=codes)
            return
        counted = self._counted.setdefault((asked.node, asked.key, asked.version), _Counted())
        counted.count += 1
        counted.in_flight_max = max(counted.in_flight_max, asked.in_flight)
        counted.took_s_max = max(counted.took_s_max, asked.took_s)
        if self._now_ns() - self._since_ns > _EVERY_NS:
            self.flush()

    def unanswered(self, asked: Asked, why: str) -> None:
        self._ended(asked, unanswered=why)

    def leader(self, key: str, node_id: int, epoch: int) -> None:
        self._line(leader_of=key, node=node_id, epoch=epoch)

    def flush(self) -> None:
        """Writes the counts of the requests that went well."""
        for (node, key, version), each in self._counted.items():
            self._line(
                node=node,
                api=key.name,
                version=version,
                count=each.count,
                in_flight_max=each.in_flight_max,
                took_ms_max=round(each.took_s_max * 1000, 3),
            )
        self._counted.clear()
        self._since_ns = self._now_ns()

    def _ended(self, asked: Asked, **how: Any) -> None:
        self._line(
            node=asked.node,
            api=asked.key.name,
            version=asked.version,
            in_flight=asked.in_flight,
            took_ms=round(asked.took_s * 1000, 3),
            **how,
        )

    def _line(self, **said: Any) -> None:
        self._write(json.dumps({"ns": self._now_ns(), **said}))


def _codes(body: Any) -> Iterator[int]:
    """Error codes anywhere in a message."""
    for name in type(body).__slots__:
        value = getattr(body, name)
        if name in _CODES:
            yield value
        elif isinstance(value, list):
            for each in value:
                if hasattr(each, "__slots__"):
                    yield from _codes(each)
