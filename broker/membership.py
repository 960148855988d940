"""A broker's place in its cluster: registered, kept by heartbeats, handed back at a stop."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from broker.log.broker_life import Life, previous_epoch_on_the_wire
from broker.metadata.broker_info import Endpoint
from broker.peers.backoff import Backoff
from broker.peers.channel import UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode, error_name
from broker.to_controller import ToController
from broker.watchers import Watchers

_log = logging.getLogger(__name__)

_QUICK_BEAT_S = 0.05
"""Between heartbeats that something waits for: to be let in, to be let go."""

_REGISTER_AGAIN = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)


class RefusedError(Exception):
    """The cluster does not want this node, and never will as it is. For the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a broker says of itself when it registers."""

    broker_id: int
    cluster_id: str
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    log_dirs: tuple[bytes, ...]
    last_life: Life


class Membership:
    def __init__(
        self,
        card: Card,
        to_controller: ToController,
        *,
        heartbeat_s: float,
        session_s: float,
        timeout_s: float,
        backoff: Backoff,
        metadata_offset: Callable[[], int],
        is_ready: Callable[[int], bool],
        offline_dirs: Callable[[], list[bytes]],
        on_registered: Callable[[], None],
    ) -> None:
        """`is_ready` says of a broker epoch whether this node has done what it came to know."""
        self._card = card
        self._to_controller = to_controller
        self._heartbeat_s = heartbeat_s
        self._session_s = session_s
        self._session_begins_s = math.inf
        self._session_ends_s = -math.inf
        self._loop = asyncio.get_running_loop()
        self._timeout_s = timeout_s
        self._backoff = backoff
        self._metadata_offset = metadata_offset
        self._is_ready = is_ready
        self._offline_dirs = offline_dirs
        self._on_registered = on_registered
        self._is_leaving = False
        self._beat_now = asyncio.Event()
        self.broker_epoch: int | None = None
        self.is_let_in = asyncio.Event()
        self.changed = Watchers()
        self.may_go = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled. Raises RefusedError."""
        while True:
            try:
                if self.broker_epoch is None:
                    await self._register()
                else:
                    await self._beat(self.broker_epoch)
            except UnansweredError as problem:
                _log.debug("the controller cannot be reached: %s", problem)
                await asyncio.sleep(self._backoff.next_s())
                continue
            self._backoff.reset()
            await self._rest()

    def is_in_session_since(self, begin_s: float) -> bool:
        """Whether the controller cannot have fenced this broker between `begin_s` and now.

        A session is counted from when its heartbeat was sent, so it ends here before it ends at the
        controller. A process that was stopped (SIGSTOP) finds it over when it goes on. The next
        heartbeat begins another one, even if the controller lets the broker in again at once.
        """
        return self._session_begins_s <= begin_s and self._loop.time() < self._session_ends_s

    def hurry(self) -> None:
        """Something happened that the controller waits for."""
        self._beat_now.set()

    def begin_harmed_life(self, incarnation_id: bytes) -> None:
        """As after a loss of power: whatever this broker was counted on for is over."""
        epoch = self.broker_epoch
        if epoch is None:
            epoch = self._card.last_life.broker_epoch
        self._card = replace(
            self._card, incarnation_id=incarnation_id, last_life=Life(epoch, is_unharmed=False)
        )
        self.broker_epoch = None
        self.is_let_in.clear()
        self.hurry()

    async def leave(self, patience_s: float) -> None:
        """Asks for other leaders first, so that nobody has to wait for a timeout."""
        self._is_leaving = True
        self.hurry()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self.may_go.wait()

    async def _rest(self) -> None:
        is_waited_for = self._is_leaving or not self.is_let_in.is_set()
        rest_s = min(_QUICK_BEAT_S, self._heartbeat_s) if is_waited_for else self._heartbeat_s
        with suppress(TimeoutError):
            async with asyncio.timeout(rest_s):
                await self._beat_now.wait()
        self._beat_now.clear()

    async def _register(self) -> None:
        card = self._card
        answer: m.BrokerRegistrationResponse = await self._to_controller.ask(
            ApiKey.BROKER_REGISTRATION,
            m.BrokerRegistrationRequest(
                broker_id=card.broker_id,
                cluster_id=card.cluster_id,
                incarnation_id=card.incarnation_id,
                listeners=[
                    m.BrokerRegistrationRequestListener(
                        name=each.name,
                        host=each.host,
                        port=each.port,
                        security_protocol=each.protocol,
                    )
                    for each in card.endpoints
                ],
                rack=card.rack,
                log_dirs=list(card.log_dirs),
                previous_broker_epoch=previous_epoch_on_the_wire(card.last_life),
            ),
            timeout_s=self._timeout_s,
        )
        if self._card is not card:
            # Trust was lost meanwhile: what was answered is for a life that is over.
            return
        if answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            raise RefusedError(
                f"the controllers belong to another cluster than this node, which is of "
                f"{card.cluster_id}; compare meta.properties, and controller.quorum.voters"
            )
        if answer.error_code:
            # Most often the session of an earlier life, which must time out first.
            raise UnansweredError(f"registration: {error_name(answer.error_code)}")
        self.broker_epoch = answer.broker_epoch
        _log.info("registered with broker epoch %d", answer.broker_epoch)
        self._on_registered()

    async def _beat(self, broker_epoch: int) -> None:
        sent_s = self._loop.time()
        answer: m.BrokerHeartbeatResponse = await self._to_controller.ask(
            ApiKey.BROKER_HEARTBEAT,
            m.BrokerHeartbeatRequest(
                broker_id=self._card.broker_id,
                broker_epoch=broker_epoch,
                current_metadata_offset=self._metadata_offset(),
                want_fence=not self._is_ready(broker_epoch),
                want_shut_down=self._is_leaving,
                offline_log_dirs=self._offline_dirs(),
            ),
            timeout_s=self._timeout_s,
        )
        if self.broker_epoch != broker_epoch:
            return  # another life has begun meanwhile
        if answer.error_code in _REGISTER_AGAIN:
            self.broker_epoch = None
            self.is_let_in.clear()
            self.hurry()
        elif answer.error_code:
            raise UnansweredError(f"heartbeat: {error_name(answer.error_code)}")
        elif answer.should_shut_down:
            self.may_go.set()
        elif answer.is_fenced:
            self.is_let_in.clear()
        else:
            self.is_let_in.set()
        if not answer.error_code and not answer.is_fenced:
            if sent_s >= self._session_ends_s:
                self._session_begins_s = sent_s
            self._session_ends_s = sent_s + self._session_s
        self.changed.wake()
