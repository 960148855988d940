"""Pulls the metadata log from the quorum's leader, as a voter or as an observer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from broker.peers.channel import Channel, UnansweredError
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import error_name
from broker.quorum import wire_form
from broker.quorum.quorum import Quorum
from broker.raft import events as e
from broker.watchers import EVER, wait_for_any

_log = logging.getLogger(__name__)

_WAIT_MAX_MS = 500
_WAITS_PER_TIMEOUT = 4
"""A leader's answer must get through well before the follower gives up on it, also between two
busy nodes: so it is not held for more than this part of the time-out."""


class MetadataPuller:
    """`run` is one of the quorum's tasks."""

    def __init__(
        self,
        quorum: Quorum,
        channels: Mapping[int, Channel],
        *,
        fetch_timeout_s: float,
        fetch_bytes: int,
        snapshot_bytes: int,
    ) -> None:
        self._quorum = quorum
        self._channels = channels
        self._wait_max_ms = min(_WAIT_MAX_MS, int(fetch_timeout_s * 1000) // _WAITS_PER_TIMEOUT)
        self._fetch_bytes = fetch_bytes
        self._snapshot_bytes = snapshot_bytes

    async def run(self) -> None:
        quorum = self._quorum
        while True:
            asked = quorum.raft.fetch_position
            if quorum.wanted_snapshot is not None:
                await self._fetch_snapshot(quorum.wanted_snapshot)
            elif asked is None:
                await wait_for_any([quorum.changed], EVER)
            else:
                await self._fetch(asked)

    async def _fetch(self, asked: e.FetchPosition) -> None:
        quorum = self._quorum
        request = wire_form.fetch_request(
            asked,
            node_id=quorum.settings.node_id,
            cluster_id=quorum.settings.cluster_id,
            high_watermark=quorum.raft.high_watermark,
            max_wait_ms=self._wait_max_ms,
            max_bytes=self._fetch_bytes,
        )
        try:
            response = await self._ask_unless_deposed(asked, request)
        except UnansweredError as problem:
            _log.debug("quorum: %s", problem)
            await quorum.step(e.FetchFailed(asked, problem.was_refused))
            await asyncio.sleep(quorum.settings.backoff_s)
            return
        if response is None:
            return
        quorum.strangers.answered(asked.to, response.error_code)
        answer, records = wire_form.fetch_answer(response)
        if records is not None and not wire_form.goes_on_from(asked, records):
            _log.error("quorum: node %d sent other records than it was asked for", asked.to)
            await quorum.step(e.FetchFailed(asked, refused=False))
            await asyncio.sleep(quorum.settings.backoff_s)
            return
        async with quorum.stepping():
            quorum.fetched_records = records
            await quorum.step_locked(e.FetchAnswered(asked, answer, records is not None))
        if answer.error:
            await asyncio.sleep(quorum.settings.backoff_s)

    async def _ask_unless_deposed(
        self, asked: e.FetchPosition, request: m.FetchRequest
    ) -> m.FetchResponse | None:
        """A leader that is none any more may hold the request for long; nobody waits for it."""
        quorum, channel = self._quorum, self._channels[asked.to]

        def look() -> None:
            if not quorum.raft.awaits(asked):
                channel.interrupt()

        quorum.changed.call(look)
        try:
            answer: m.FetchResponse = await channel.ask(
                ApiKey.FETCH, request, timeout_s=quorum.settings.request_timeout_s
            )
        except UnansweredError:
            if not quorum.raft.awaits(asked):
                return None
            raise
        finally:
            quorum.changed.call_no_more(look)
        return answer

    async def _fetch_snapshot(self, source: e.SnapshotSource) -> None:
        quorum, content = self._quorum, bytearray()
        try:
            while True:
                part = await self._ask_for_part(source, len(content))
                content += part.unaligned_records or b""
                if len(content) >= part.size:
                    break
                await quorum.step(e.SnapshotProgressed(source))
        except UnansweredError as problem:
            _log.warning("quorum: %s", problem)
            quorum.wanted_snapshot = None
            await quorum.step(e.SnapshotFailed(source))
            await asyncio.sleep(quorum.settings.backoff_s)
            return
        async with quorum.stepping():
            quorum.wanted_snapshot = None
            quorum.fetched_snapshot = bytes(content)
            await quorum.step_locked(e.SnapshotFetched(source))

    async def _ask_for_part(
        self, source: e.SnapshotSource, position: int
    ) -> m.FetchSnapshotResponsePartitionSnapshot:
        settings = self._quorum.settings
        answer: m.FetchSnapshotResponse = await self._channels[source.leader_id].ask(
            ApiKey.FETCH_SNAPSHOT,
            wire_form.snapshot_request(
                source,
                node_id=settings.node_id,
                cluster_id=settings.cluster_id,
                position=position,
                max_bytes=self._snapshot_bytes,
            ),
            timeout_s=settings.request_timeout_s,
        )
        if answer.error_code or not answer.topics:
            raise UnansweredError(f"no snapshot is given: {error_name(answer.error_code)}")
        part = answer.topics[0].partitions[0]
        if part.error_code or part.position != position:
            raise UnansweredError(f"no snapshot is given: {error_name(part.error_code)}")
        return part
