"""Our own client on real sockets: the third client of a run, beside the two libraries.

Whatever it draws follows from the run's seed and the client's id, as in the simulator.
"""

from __future__ import annotations

import sys
import time

from broker.network.sockets import SocketNetwork
from harness.client.base import ClientSettings
from harness.client.kafka_client import KafkaClient
from harness.decisions import Decisions
from harness.errors import EnvironmentFailure
from harness.native.driver import NativeDriver, Surroundings
from harness.native.reader import FetchSettings
from harness.native.request_log import RequestLog

_FETCH = FetchSettings(max_wait_s=0.0, max_bytes=128 << 10, polled_max=500, outlives_poll=True)
"""500 records are Kafka's default for a poll. A fetch is smaller than Kafka's 1 MB, because to
decode that takes long enough here to hold up heartbeats."""
_AUTO_COMMIT_S = 0.5


class NativeClient(KafkaClient):
    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        self._settings = settings
        surroundings = Surroundings(
            network=SocketNetwork(),
            random=Decisions(settings.seed).random("client", client_id),
            now_ms=_wall_clock_ms,
            now_ns=time.monotonic_ns,
            fetch=_FETCH,
            requests=RequestLog(_to_log, time.monotonic_ns),
            auto_commit_s=_AUTO_COMMIT_S,
        )
        super().__init__(
            NativeDriver(surroundings, settings, client_id),
            now_ms=_wall_clock_ms,
            now_ns=time.monotonic_ns,
        )

    async def open(self) -> None:
        for name in (*self._settings.producer_config, *self._settings.consumer_config):
            raise EnvironmentFailure(
                f"the native client has no property {name}: the run decides about all of its "
                "settings; leave it out, or try --client confluent"
            )
        await super().open()


def _to_log(line: str) -> None:
    """The log of a client's process is what it writes to stderr."""
    sys.stderr.write(f"{line}\n")


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000
