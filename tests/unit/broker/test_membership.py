"""A broker's place in its cluster: asked for, kept, lost and asked for again, handed back."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random

import pytest

from broker.log.broker_life import Life, last_life_from_the_wire
from broker.membership import Card, Membership, RefusedError
from broker.metadata.broker_info import Endpoint
from broker.peers.backoff import Backoff
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.fake_controller import FakeController
from tests.virtual_time import in_virtual_time

REGISTER, BEAT = ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT
HEARTBEAT_S = 2.0
SESSION_S = 9.0

CARD = Card(
    broker_id=4,
    cluster_id="cluster",
    incarnation_id=b"i" * 16,
    endpoints=(Endpoint("PLAINTEXT", "host", 9092),),
    rack="r1",
    log_dirs=(b"d" * 16,),
    last_life=Life(11, is_unharmed=True),
)


class Stage:
    """A membership with a controller that lets it in as soon as it is ready."""

    def __init__(self) -> None:
        self.controller = FakeController()
        self.controller.answers[REGISTER] = self._register
        self.controller.answers[BEAT] = self._beat
        self.next_epoch = 20
        self.refusal = ErrorCode.NONE
        self.beat_error = ErrorCode.NONE
        self.lets_go = False
        self.ready_epoch: int | None = None
        self.registrations = 0
        self.offline_dirs: list[bytes] = []
        self.membership = Membership(
            CARD,
            self.controller.to_controller,
            heartbeat_s=HEARTBEAT_S,
            session_s=SESSION_S,
            timeout_s=1.0,
            backoff=Backoff(0.1, 1.0, Random(1)),
            metadata_offset=lambda: 77,
            is_ready=lambda epoch: self.ready_epoch == epoch,
            offline_dirs=lambda: self.offline_dirs,
            on_registered=self._on_registered,
        )
        self.task = asyncio.ensure_future(self.membership.run())

    def _on_registered(self) -> None:
        self.registrations += 1

    def _register(self, body: m.BrokerRegistrationRequest) -> m.BrokerRegistrationResponse:
        if self.refusal:
            return m.BrokerRegistrationResponse(error_code=self.refusal)
        return m.BrokerRegistrationResponse(broker_epoch=self.next_epoch)

    def _beat(self, body: m.BrokerHeartbeatRequest) -> m.BrokerHeartbeatResponse:
        if self.beat_error:
            return m.BrokerHeartbeatResponse(error_code=self.beat_error)
        return m.BrokerHeartbeatResponse(
            is_fenced=body.want_fence, should_shut_down=body.want_shut_down and self.lets_go
        )

    async def let_in(self) -> None:
        await asyncio.sleep(0.2)
        self.ready_epoch = self.membership.broker_epoch
        self.membership.hurry()
        await asyncio.sleep(0.2)
        assert self.membership.is_let_in.is_set()


@in_virtual_time
async def test_it_registers_with_its_card() -> None:
    stage = Stage()
    await asyncio.sleep(0.01)
    [question] = stage.controller.asked(REGISTER)
    body = question.body
    assert (body.broker_id, body.cluster_id, body.rack) == (4, "cluster", "r1")
    assert (body.incarnation_id, body.log_dirs) == (b"i" * 16, [b"d" * 16])
    [listener] = body.listeners
    assert (listener.name, listener.host, listener.port) == ("PLAINTEXT", "host", 9092)
    assert last_life_from_the_wire(body.previous_broker_epoch) == Life(11, is_unharmed=True)
    assert (stage.membership.broker_epoch, stage.registrations) == (20, 1)
    assert not stage.membership.is_let_in.is_set()


@in_virtual_time
async def test_it_asks_to_be_let_in_only_when_it_is_ready_and_then_soon() -> None:
    stage = Stage()
    await asyncio.sleep(5)
    beats = stage.controller.asked(BEAT)
    assert all(each.body.want_fence for each in beats)
    assert {(each.body.broker_epoch, each.body.current_metadata_offset) for each in beats} == {
        (20, 77)
    }
    # Something waits for it, so it does not wait for its interval.
    assert max(later.at_s - earlier.at_s for earlier, later in pairwise(beats)) < 0.1
    stage.ready_epoch = 20
    await asyncio.sleep(0.1)
    assert stage.membership.is_let_in.is_set()


@in_virtual_time
async def test_once_let_in_it_beats_at_its_interval() -> None:
    stage = Stage()
    await stage.let_in()
    stage.controller.questions.clear()
    await asyncio.sleep(60)
    beats = stage.controller.asked(BEAT)
    assert 29 <= len(beats) <= 31
    assert stage.controller.asked(REGISTER) == []
    assert not any(each.body.want_fence or each.body.want_shut_down for each in beats)


@in_virtual_time
async def test_a_heartbeat_names_the_directories_that_failed() -> None:
    stage = Stage()
    await stage.let_in()
    assert stage.controller.asked(BEAT)[-1].body.offline_log_dirs == []
    stage.offline_dirs = [b"d" * 16]
    stage.membership.hurry()
    await asyncio.sleep(0.01)
    assert stage.controller.asked(BEAT)[-1].body.offline_log_dirs == [b"d" * 16]


@in_virtual_time
async def test_whoever_waits_for_news_is_woken() -> None:
    stage = Stage()
    await stage.let_in()
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    stage.membership.changed.add(woken)
    await asyncio.wait_for(woken, 3 * HEARTBEAT_S)


@pytest.mark.parametrize(
    "error", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED]
)
@in_virtual_time
async def test_a_place_that_was_lost_is_asked_for_again_at_once(error: ErrorCode) -> None:
    stage = Stage()
    await stage.let_in()
    stage.beat_error, stage.next_epoch = error, 21
    await asyncio.sleep(HEARTBEAT_S)
    stage.beat_error = ErrorCode.NONE
    assert not stage.membership.is_let_in.is_set()
    await asyncio.sleep(0.5)
    assert (stage.membership.broker_epoch, stage.registrations >= 2) == (21, True)
    # It is another life: what it did for the one before does not make it ready.
    assert not stage.membership.is_let_in.is_set()
    assert stage.controller.asked(BEAT)[-1].body.want_fence
    await stage.let_in()


@in_virtual_time
async def test_a_controller_that_fences_it_keeps_it_out_until_it_unfences() -> None:
    stage = Stage()
    await stage.let_in()
    stage.ready_epoch = None
    await asyncio.sleep(HEARTBEAT_S + 0.1)
    assert not stage.membership.is_let_in.is_set()
    stage.ready_epoch = 20
    await asyncio.sleep(0.1)
    assert stage.membership.is_let_in.is_set()


@in_virtual_time
async def test_an_older_life_that_still_has_its_session_is_waited_for() -> None:
    stage = Stage()
    stage.refusal = ErrorCode.DUPLICATE_BROKER_REGISTRATION
    await asyncio.sleep(9)
    tries = stage.controller.asked(REGISTER)
    assert 9 <= len(tries) <= 14
    stage.refusal = ErrorCode.NONE
    await asyncio.sleep(1.5)
    assert stage.membership.broker_epoch == 20


@in_virtual_time
async def test_a_controller_that_cannot_be_reached_is_tried_again_and_the_place_is_kept() -> None:
    stage = Stage()
    await stage.let_in()
    stage.controller.is_reachable = False
    await asyncio.sleep(30)
    stage.controller.is_reachable = True
    await asyncio.sleep(1.5)
    assert stage.membership.broker_epoch == 20
    assert len(stage.controller.asked(REGISTER)) == 1
    assert stage.membership.is_let_in.is_set()


@in_virtual_time
async def test_a_heartbeat_error_that_passes_changes_nothing() -> None:
    stage = Stage()
    await stage.let_in()
    stage.beat_error = ErrorCode.NOT_CONTROLLER
    await asyncio.sleep(10)
    stage.beat_error = ErrorCode.NONE
    await asyncio.sleep(2)
    assert (stage.membership.broker_epoch, stage.registrations) == (20, 1)


@in_virtual_time
async def test_another_cluster_ends_it_with_a_sentence() -> None:
    stage = Stage()
    stage.refusal = ErrorCode.INCONSISTENT_CLUSTER_ID
    with pytest.raises(RefusedError, match=r"another cluster than this node, which is of cluster;"):
        await stage.task


@in_virtual_time
async def test_it_leaves_when_the_controller_lets_it_go() -> None:
    stage = Stage()
    await stage.let_in()
    began = asyncio.get_running_loop().time()
    leaving = asyncio.ensure_future(stage.membership.leave(patience_s=9.0))
    await asyncio.sleep(1.0)
    assert not leaving.done()
    beats = [each for each in stage.controller.asked(BEAT) if each.at_s >= began]
    # It asks at once, and often: a client waits for the new leaders.
    assert len(beats) > 10
    assert all(each.body.want_shut_down for each in beats)
    stage.lets_go = True
    await leaving
    assert asyncio.get_running_loop().time() - began < 1.2


@in_virtual_time
async def test_it_does_not_wait_for_ever_to_be_let_go() -> None:
    stage = Stage()
    await stage.let_in()
    stage.controller.is_reachable = False
    began = asyncio.get_running_loop().time()
    await stage.membership.leave(patience_s=9.0)
    assert asyncio.get_running_loop().time() - began == pytest.approx(9.0)


@in_virtual_time
async def test_a_broker_that_lost_records_begins_another_life() -> None:
    stage = Stage()
    await stage.let_in()
    stage.next_epoch = 30
    stage.membership.begin_harmed_life(b"j" * 16)
    assert not stage.membership.is_let_in.is_set()
    await asyncio.sleep(0.1)
    body = stage.controller.asked(REGISTER)[-1].body
    assert body.incarnation_id == b"j" * 16
    assert last_life_from_the_wire(body.previous_broker_epoch) == Life(20, is_unharmed=False)
    assert stage.membership.broker_epoch == 30


@in_virtual_time
async def test_trust_that_is_lost_while_it_registers_is_told_by_another_registration() -> None:
    stage = Stage()
    stage.controller.takes_s = 0.5
    await asyncio.sleep(0.25)
    stage.membership.begin_harmed_life(b"j" * 16)
    stage.next_epoch = 30
    await asyncio.sleep(0.4)
    assert stage.registrations == 0
    await asyncio.sleep(0.5)
    told = [each.body for each in stage.controller.asked(REGISTER)]
    assert [each.incarnation_id for each in told] == [b"i" * 16, b"j" * 16]
    lives = [last_life_from_the_wire(each.previous_broker_epoch) for each in told]
    assert lives == [Life(11, is_unharmed=True), Life(11, is_unharmed=False)]
    assert (stage.membership.broker_epoch, stage.registrations) == (30, 1)


@in_virtual_time
async def test_a_heartbeat_of_the_life_before_lets_nobody_in() -> None:
    stage = Stage()
    await stage.let_in()
    stage.controller.takes_s = 0.5
    stage.membership.hurry()
    await asyncio.sleep(0.25)
    stage.membership.begin_harmed_life(b"j" * 16)
    await asyncio.sleep(0.4)
    assert not stage.membership.is_let_in.is_set()


@in_virtual_time
async def test_a_session_is_counted_from_the_last_heartbeat_that_was_answered_well() -> None:
    stage = Stage()
    membership, loop = stage.membership, asyncio.get_running_loop()
    await asyncio.sleep(0.1)
    assert not membership.is_in_session_since(loop.time()), "it has not been let in yet"
    await stage.let_in()
    begin_s = loop.time()
    await asyncio.sleep(60)
    assert membership.is_in_session_since(begin_s)
    stage.beat_error = ErrorCode.NOT_CONTROLLER
    last_s = stage.controller.asked(BEAT)[-1].at_s
    await asyncio.sleep(last_s + SESSION_S - 0.01 - loop.time())
    assert membership.is_in_session_since(begin_s)
    await asyncio.sleep(0.02)
    assert not membership.is_in_session_since(begin_s)
    stage.beat_error = ErrorCode.NONE
    await asyncio.sleep(2.0)
    assert membership.is_in_session_since(loop.time())
    assert not membership.is_in_session_since(begin_s), "another session has begun"
