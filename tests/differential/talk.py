"""How a story talks to a broker: it asks, and every answer is written down."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from broker.protocol.apis import API_VERSIONS, ApiKey, api_name
from broker.protocol.errors import ErrorCode
from broker.protocol.schema_text import schema
from tests.differential.plain import Plain, message_of
from tests.differential.wire import (
    PATIENCE_S,
    ClosedError,
    Connection,
    DisagreementError,
    Sent,
    SilentError,
)

Fields = dict[str, Any]
"""Fields of a request as a script writes them: structs are dictionaries too."""

_RETRY_WITHIN_S = 30.0
_RETRY_EVERY_S = 0.05
_SILENCE_S = 0.3
_NOT_YET = frozenset(
    (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.LEADER_NOT_AVAILABLE,
    )
)


class StoryEndedError(Exception):
    """A story cannot go on: it needs a response that it did not get."""


class NotServedError(Exception):
    """The broker does not serve an API, or a version of it, that a story needs."""


@dataclass
class Step:
    """One request of a story and what became of it."""

    name: str
    api_key: int
    version: int
    request: Mapping[str, Any]
    response: Any = None
    """Plain values; None if there was no response."""
    ending: str = ""
    """What happened instead of a response: `closed`, `silent` or a sentence."""
    is_setup: bool = False
    """Not compared. Its ids get their names here, so that a later mixup is seen."""


class Topic(NamedTuple):
    name: str
    id: bytes


@dataclass
class Pending:
    """A request whose response is read later, for requests that wait for each other."""

    _talk: Talk
    _step: Step
    _on: str
    _sent: Sent | None

    def answer(self) -> Any:
        """The response as plain values; it ends the story if there is none."""
        response = self.outcome().response
        if response is None:
            raise StoryEndedError(f"{self._step.name}: {self._step.ending}")
        return response

    def outcome(self, patience_s: float = PATIENCE_S) -> Step:
        """The step, whether it ended in a response or not."""
        if self._sent is not None:
            self._talk._receive(self._step, self._on, self._sent, patience_s)
            self._sent = None
        return self._step

    def is_silent(self, within_s: float = _SILENCE_S) -> bool:
        return self._talk._connection(self._on).is_silent(within_s)


@dataclass
class Talk:
    """One play of one story in one version against one broker."""

    address: str
    api_key: ApiKey
    version: int
    label: str
    """Names made from it are unique among all plays, and the same on both brokers."""
    advertised: Mapping[int, tuple[int, int]]
    steps: list[Step] = field(default_factory=list)
    _connections: dict[str, Connection] = field(default_factory=dict)
    _names: int = 0
    _setups: int = 0

    def name(self, what: str = "topic") -> str:
        """A new name for a topic or a group."""
        self._names += 1
        return f"{self.label}-{what}-{self._names}"

    def ask(self, step: str, api: ApiKey | None = None, /, **fields: Any) -> Any:
        """Sends a request of the API under test and returns the response as plain values.

        `api` is another API, in the highest version that our codec and the broker have. Further
        words: `version`, `on` (the name of a connection of its own).
        """
        return self.send(step, api, **fields).answer()

    def attempt(self, step: str, api: ApiKey | None = None, /, **fields: Any) -> Step:
        """Same as `ask`, for requests that may end the connection.

        One more word: `patience_s`, for requests that a broker may leave without an answer.
        """
        patience_s = fields.pop("patience_s", PATIENCE_S)
        return self.send(step, api, **fields).outcome(patience_s)

    def send(
        self,
        step: str,
        api: ApiKey | None = None,
        /,
        *,
        version: int | None = None,
        on: str = "first",
        **fields: Any,
    ) -> Pending:
        key, version = self._target(api, version)
        taken = Step(step, key, version, fields)
        self.steps.append(taken)
        message = message_of(schema().apis[key].request.struct, fields)
        try:
            sent = self._connection(on).send(key, version, message)
        except ClosedError:
            self._end(taken, on, "closed")
            return Pending(self, taken, on, None)
        return Pending(self, taken, on, sent)

    def raw_answer(self, step: str, api_key: int, version: int, body: bytes) -> bytes | None:
        """Any bytes behind a header of any API. Notes whether a frame comes back; returns it."""
        taken = Step(step, api_key, version, {"body": body})
        self.steps.append(taken)
        connection = Connection(self.address)
        try:
            connection.send_body(api_key, version, body)
            return connection.frame()
        except ClosedError:
            taken.ending = "closed"
        except SilentError:
            taken.ending = "silent"
        finally:
            connection.close()
        return None

    def raw_bytes(self, step: str, data: bytes) -> None:
        """Bytes that may be no frame at all. Notes whether the broker answers or closes."""
        taken = Step(step, self.api_key, self.version, {"bytes": data})
        self.steps.append(taken)
        connection = Connection(self.address)
        try:
            connection.send_bytes(data)
            connection.frame(patience_s=2.0)
            taken.ending = "some answer"
        except ClosedError:
            taken.ending = "closed"
        except SilentError:
            taken.ending = "silent"
        finally:
            connection.close()

    def expect_silence(self, step: str, api: ApiKey | None = None, /, **fields: Any) -> None:
        """Sends a request that has no response, and notes whether the connection survives it.

        A question behind it on the same connection tells: responses come in order.
        """
        pending = self.send(step, api, **fields)
        if pending._sent is None:
            return
        before = len(self.steps)
        probe = self.send("probe", ApiKey.API_VERSIONS, version=0).outcome()
        del self.steps[before:]
        pending._sent = None
        pending._step.ending = probe.ending or "silent"

    def setup(
        self, api: ApiKey, /, *, until: Callable[[Any], bool] = lambda response: True, **fields: Any
    ) -> Any:
        """A request that is not compared and that is repeated until the broker is ready."""
        return self.setup_with(api, fields, until)

    def setup_with(
        self, api: ApiKey, fields: Mapping[str, Any], until: Callable[[Any], bool]
    ) -> Any:
        """Same as `setup`, for fields that `until` changes from one request to the next."""
        deadline = time.monotonic() + _RETRY_WITHIN_S
        while True:
            before = len(self.steps)
            response = self.ask("setup", api, **fields)
            del self.steps[before:]
            if not error_codes(response) & _NOT_YET and until(response):
                self._setups += 1
                made = Step(f"setup {self._setups}", api, 0, {}, response, is_setup=True)
                self.steps.append(made)
                return response
            if time.monotonic() > deadline:
                raise StoryEndedError(f"setup with {api_name(api)} is not ready: {response}")
            time.sleep(_RETRY_EVERY_S)

    def send_unseen(self, api: ApiKey, /, **fields: Any) -> None:
        """A request that is not compared and whose response nobody reads."""
        self.send("setup", api, **fields)
        del self.steps[-1]

    def topic(self, partitions: int = 1, /, **configs: str) -> Topic:
        """A new topic, with an underscore for each dot in the names of its configs."""
        name = self.name("topic")
        wanted = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "configs": [
                {"name": key.replace("_", "."), "value": value} for key, value in configs.items()
            ],
        }
        made = self.setup(ApiKey.CREATE_TOPICS, topics=[wanted], timeout_ms=30_000).topics[0]
        if made.error_code:
            raise StoryEndedError(f"topic {name}: {made}")
        self.await_partitions(name, partitions)
        return Topic(name, made.topic_id)

    def await_partitions(self, topic: str, partitions: int) -> None:
        """Until the broker leads them: the controller answers before brokers have acted."""
        wanted = [{"partition_index": number, "timestamp": -1} for number in range(partitions)]
        self.setup(
            ApiKey.LIST_OFFSETS,
            until=lambda response: error_codes(response) == {0},
            replica_id=-1,
            topics=[{"name": topic, "partitions": wanted}],
        )

    def until_gone(self, topic: str) -> None:
        """Until the broker no longer knows the topic."""
        self.setup(
            ApiKey.METADATA,
            version=4,
            until=lambda response: response.topics[0].error_code != 0,
            topics=[{"name": topic}],
            allow_auto_topic_creation=False,
        )

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _target(self, api: ApiKey | None, version: int | None) -> tuple[ApiKey, int]:
        if api is None or api == self.api_key:
            return self.api_key, self.version if version is None else version
        first, last = self.advertised.get(api, (0, -1))
        wanted = min(API_VERSIONS[api][1], last) if version is None else version
        if not first <= wanted <= last:
            raise NotServedError(f"{api.name} v{wanted}" if version is not None else api.name)
        return api, wanted

    def _connection(self, on: str) -> Connection:
        if on not in self._connections:
            self._connections[on] = Connection(self.address)
        return self._connections[on]

    def _receive(self, step: Step, on: str, sent: Sent, patience_s: float) -> None:
        try:
            step.response = self._connection(on).response(sent, patience_s)
        except ClosedError:
            self._end(step, on, "closed")
        except SilentError:
            self._end(step, on, "silent")
        except DisagreementError as problem:
            self._end(step, on, str(problem))

    def _end(self, step: Step, on: str, ending: str) -> None:
        """The next request on this connection makes a new one."""
        step.ending = ending
        self._connections.pop(on).close()


def error_codes(value: Any) -> set[int]:
    """Every error code in a response, at any depth."""
    if isinstance(value, Plain):
        here = {value["error_code"]} if "error_code" in value else set()
        return here.union(*(error_codes(each) for each in value.values()))
    if isinstance(value, list):
        return set().union(*(error_codes(each) for each in value))
    return set()
