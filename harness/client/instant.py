"""A client without a cluster: answers at once, from memory. It measures the harness itself.

Every worker has a memory of its own, and a record is forgotten when it was polled, so that a long
run needs no more room than a short one. Offsets carry the producer's number: those of two workers
never meet, and a history of such clients has no anomaly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.client.base import Client, ClientSettings, Completion, Invocation
from harness.client.driver import ANY_PARTITION, is_topic, place_of
from harness.client.partitioners import BY_NAME

_PRODUCER_BITS = 16
_VALUE_BITS = 32
_PARTITIONS = 4
"""Of a topic that nobody made here."""
_PARTITIONER = "murmur2"


class Log:
    __slots__ = ("appended", "count", "unread")

    def __init__(self) -> None:
        self.count = 0
        self.unread: list[list[Any]] = []
        self.appended: list[Any] = []


class Memory:
    """Outlives the clients of its worker: what one has sent its successor polls."""

    def __init__(self) -> None:
        self.logs: dict[str, Log] = {}
        self.registers: dict[str, Any] = {}
        self.topics: dict[str, dict[str, Any]] = {}

    def log(self, key: str) -> Log:
        log = self.logs.get(key)
        if log is None:
            log = self.logs[key] = Log()
        return log


_OF_THIS_PROCESS = Memory()


class InstantClient:
    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = _OF_THIS_PROCESS if memory is None else memory
        self._assigned: Sequence[str] = ()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def invoke(self, invocation: Invocation) -> Completion:
        f, value = invocation.f, invocation.value
        match f:
            case "send" | "poll" | "txn" | "put" | "get":
                return Completion("ok", [self._micro_op(each) for each in value])
            case "partitioner":
                return Completion("ok", _PARTITIONER)
            case "assign":
                self._assigned = tuple(each for key in value for each in self._keys(key))
                return Completion("ok", list(self._assigned))
            case "end-offsets":
                keys = self._assigned if value is None else value
                ends = {key: self._memory.log(key).count << _PRODUCER_BITS for key in keys}
                return Completion(
                    "ok", {"low": dict.fromkeys(keys, 0), "stable": ends, "high": ends}
                )
            case "crash":
                return Completion("info", None, "crash: the client was thrown away")
            case _:
                return Completion("ok", self._administered(f, value))

    def _micro_op(self, micro_op: list[Any]) -> list[Any]:
        name = micro_op[0]
        if name == "poll":
            return ["poll", self._polled()]
        key, value = micro_op[1], micro_op[2]
        if name == "send":
            key = self._placed(key)
            log = self._memory.log(key)
            offset = log.count << _PRODUCER_BITS | value >> _VALUE_BITS
            log.count += 1
            log.unread.append([offset, value])
            return ["send", key, [offset, value]]
        if name == "append":
            self._memory.log(key).appended.append(value)
            return micro_op
        if name == "r":
            return ["r", key, list(self._memory.log(key).appended)]
        if name == "put":
            self._memory.registers[key] = value
            return ["put", key, [None, value]]
        return ["get", key, self._memory.registers.get(key)]

    def _placed(self, key: str) -> str:
        place = place_of(key)
        if place.partition != ANY_PARTITION:
            return key
        chosen = BY_NAME[_PARTITIONER]((place.name or "").encode(), self._count(place.topic))
        return f"{place.topic}-{chosen}"

    def _keys(self, key: str) -> list[str]:
        if not is_topic(key):
            return [key]
        return [f"{key}-{index}" for index in range(self._count(key))]

    def _count(self, topic: str) -> int:
        partitions: int = self._memory.topics.get(topic, {}).get("partitions", _PARTITIONS)
        return partitions

    def _polled(self) -> dict[str, list[list[Any]]]:
        found = {}
        for key in self._assigned:
            log = self._memory.logs.get(key)
            if log is not None and log.unread:
                found[key], log.unread = log.unread, []
        return found

    def _administered(self, f: str, value: dict[str, Any]) -> dict[str, Any]:
        topics, topic = self._memory.topics, value["topic"]
        match f:
            case "create":
                topics[topic] = {"partitions": value["partitions"], "configs": value["configs"]}
            case "create-partitions":
                topics.setdefault(topic, {"configs": {}})["partitions"] = value["partitions"]
            case "delete":
                topics.pop(topic, None)
            case "alter":
                if topic in topics:
                    configs = {**topics[topic]["configs"], **value["configs"]}
                    topics[topic]["configs"] = {k: v for k, v in configs.items() if v is not None}
            case "describe":
                return {**value, **topics.get(topic, {"partitions": None})}
            case _:
                raise ValueError(f"no client here can do {f!r}")
        return value


def instant_client(settings: ClientSettings, client_id: str) -> Client:
    """As any client is made; neither matters to one without a cluster."""
    return InstantClient()


def _check(client: InstantClient) -> Client:
    """Has mypy hold it to what a run expects."""
    return client
