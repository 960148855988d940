"""Any broker may be asked to change the cluster: it decides itself, or takes the request there."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from broker.api.forwarding import at_the_controller, envelope
from broker.api.request import Lease
from broker.api.table import AT_THE_CONTROLLER
from broker.node import Node
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, create_topic, running_node
from tests.unit.broker.fake_controller import FakeController
from tests.virtual_time import in_virtual_time


class Broker:
    """A node that is no controller, as far as forwarding looks at it."""

    def __init__(self) -> None:
        self.controller = SimpleNamespace(is_active=False)
        self.forwarding = FakeController()
        self.changed: list[Any] = []
        self.answered_here: list[Any] = []
        self.had_its_turn = False

    async def know_what_was_changed(self, answer: Any) -> None:
        self.changed.append(answer)

    async def create(
        self, timeout_ms: int = 3000, version: int | None = None, lease: Lease | None = None
    ) -> Any:
        topic = m.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        body = m.CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms)
        request = ask(ApiKey.CREATE_TOPICS, body, version)
        request.lease = lease
        return await at_the_controller(self._here)(cast("Node", self), request)

    async def _here(self, node: Any, request: Any) -> str:
        assert node is self
        self.answered_here.append(request.body)
        self.had_its_turn = request.lease is not None and request.lease.has_turn
        return "from here"


class Turn:
    """The lease of a wide request: notes whether it is its turn."""

    def __init__(self) -> None:
        self.has_turn = True

    async def take_turn(self) -> None:
        self.has_turn = True

    def pass_on(self) -> None:
        self.has_turn = False

    def end(self) -> None:
        raise AssertionError("the server ends it, when the answer is encoded")


def envelope_of(controller: Node) -> Any:
    """The controller's end of the way."""
    handler = envelope(AT_THE_CONTROLLER)
    return lambda body: handler(controller, ask(ApiKey.ENVELOPE, body))


@in_virtual_time
async def test_the_active_controller_answers_itself() -> None:
    broker = Broker()
    broker.controller.is_active = True
    assert await broker.create() == "from here"
    assert broker.forwarding.questions == []


@pytest.mark.parametrize("version", range(*API_VERSIONS[ApiKey.CREATE_TOPICS]))
async def test_a_request_is_carried_out_at_the_controller_in_the_version_it_came(
    version: int,
) -> None:
    async with running_node() as controller:
        broker = Broker()
        broker.forwarding.answers[ApiKey.ENVELOPE] = envelope_of(controller)
        answer = await broker.create(version=version)
        [made] = answer.topics
        assert (made.name, made.error_code) == ("t", 0)
        assert "t" in controller.metadata.image.topics
        assert broker.changed == [answer]
        assert broker.answered_here == []


async def test_an_error_of_the_controller_comes_back_as_it_is() -> None:
    async with running_node() as controller:
        await create_topic(controller, "t")
        broker = Broker()
        broker.forwarding.answers[ApiKey.ENVELOPE] = envelope_of(controller)
        [made] = (await broker.create()).topics
        assert made.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert "exists" in (made.error_message or "")


@in_virtual_time
async def test_without_a_controller_it_tries_until_the_clients_time_is_up() -> None:
    broker = Broker()
    broker.forwarding.is_reachable = False
    assert await broker.create(timeout_ms=3000) == "from here"
    assert 3.0 <= asyncio.get_running_loop().time() < 3.1
    assert len(broker.forwarding.questions) > 20


@in_virtual_time
async def test_a_wide_request_lets_the_next_one_begin_while_there_is_no_controller() -> None:
    broker, turn = Broker(), Turn()
    broker.forwarding.is_reachable = False
    asked = asyncio.create_task(broker.create(timeout_ms=3000, lease=turn))
    await asyncio.sleep(1)
    assert not turn.has_turn
    assert await asked == "from here"
    assert broker.had_its_turn


async def test_a_wide_request_has_its_turn_again_when_the_controller_has_answered() -> None:
    async with running_node() as controller:
        broker, turn = Broker(), Turn()
        had: list[bool] = []

        async def opened(body: Any) -> Any:
            had.append(turn.has_turn)
            return await envelope_of(controller)(body)

        broker.forwarding.answers[ApiKey.ENVELOPE] = opened
        await broker.create(lease=turn)
        assert (had, turn.has_turn) == ([False], True)


def wrapped(count: int) -> m.EnvelopeRequest:
    """CreateTopics for so many topics, forwarded."""
    header = m.RequestHeader(
        api_key=ApiKey.CREATE_TOPICS, api_version=7, correlation_id=1, client_id="c"
    )
    topics = [
        m.CreatableTopic(name=f"t{number}", num_partitions=1, replication_factor=1)
        for number in range(count)
    ]
    body = m.CreateTopicsRequest(topics=topics, timeout_ms=3000, validate_only=True)
    asked = codec.encode_request(ApiKey.CREATE_TOPICS, 7, body)
    frame = b"".join(bytes(each) for each in frames.request_frame(header, asked))
    return m.EnvelopeRequest(request_data=frame[4:], client_host_address=b"")


async def test_a_wide_request_in_an_envelope_counts_for_the_memory_and_waits_its_turn() -> None:
    async with running_node() as controller:
        memory = controller.controller_server.memory
        envelopes = [wrapped(2000), wrapped(2000)]
        alone_bytes = len(envelopes[0].request_data) + 2000 * 400
        tasks = [asyncio.create_task(envelope_of(controller)(each)) for each in envelopes]
        most_bytes = 0
        while not all(task.done() for task in tasks):
            most_bytes = max(most_bytes, memory.used_bytes)
            await asyncio.sleep(0)
        assert alone_bytes <= most_bytes < 2 * alone_bytes
        assert memory.used_bytes == 0
        for task in tasks:
            data = memoryview(task.result().response_data)
            _, at = frames.decode_response_header(ApiKey.CREATE_TOPICS, 7, data)
            answer, _ = codec.decode_response(ApiKey.CREATE_TOPICS, 7, data, at)
            assert len(answer.topics) == 2000


@pytest.mark.parametrize("count", [100_001, 2000])
async def test_an_envelope_with_too_much_or_cut_off_is_refused(count: int) -> None:
    async with running_node() as controller:
        body = wrapped(count)
        if count == 2000:
            body.request_data = body.request_data[:-100]
        answer = await envelope_of(controller)(body)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert controller.controller_server.memory.used_bytes == 0


@in_virtual_time
async def test_a_controller_that_is_found_in_time_is_asked() -> None:
    broker = Broker()
    broker.forwarding.is_reachable = False

    def become_the_controller() -> None:
        broker.controller.is_active = True

    asyncio.get_running_loop().call_later(1.0, become_the_controller)
    assert await broker.create() == "from here"
    assert 1.0 <= asyncio.get_running_loop().time() < 1.1


@in_virtual_time
async def test_one_that_is_no_controller_any_more_is_not_believed() -> None:
    broker = Broker()
    refusal = m.EnvelopeResponse(response_data=None, error_code=ErrorCode.NOT_CONTROLLER)
    broker.forwarding.answers[ApiKey.ENVELOPE] = lambda _: refusal
    assert await broker.create(timeout_ms=500) == "from here"
    assert broker.changed == []


@in_virtual_time
async def test_an_envelope_for_somebody_else_is_sent_back() -> None:
    opened = envelope(AT_THE_CONTROLLER)
    body = m.EnvelopeRequest(request_data=b"", client_host_address=b"")
    node = cast("Node", Broker())
    answer = await opened(node, ask(ApiKey.ENVELOPE, body))
    assert answer.error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x00\x13\x00\x07", b"\xff" * 40])
async def test_an_envelope_of_nonsense_is_refused(content: bytes) -> None:
    async with running_node() as controller:
        body = m.EnvelopeRequest(request_data=content, client_host_address=b"")
        answer = await envelope_of(controller)(body)
        assert (answer.error_code, answer.response_data) == (ErrorCode.INVALID_REQUEST, None)


async def test_only_what_changes_the_cluster_may_come_in_an_envelope() -> None:
    header = m.RequestHeader(
        api_key=ApiKey.METADATA, api_version=12, correlation_id=1, client_id="c"
    )
    asked = codec.encode_request(ApiKey.METADATA, 12, m.MetadataRequest(topics=None))
    frame = b"".join(bytes(each) for each in frames.request_frame(header, asked))
    async with running_node() as controller:
        body = m.EnvelopeRequest(request_data=frame[4:], client_host_address=b"")
        answer = await envelope_of(controller)(body)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
