"""A cluster of real processes on loopback for a bench, ended whichever way the bench ends."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from harness.cluster import Cluster
from harness.cluster.local import LocalPlace
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import QUICK_FAILOVER, Settings
from harness.errors import EnvironmentFailure

# Written out, so that what is printed is what is in force.
KAFKA_DEFAULTS = Settings(
    broker_session_timeout_ms=9000,
    broker_heartbeat_interval_ms=2000,
    controller_quorum_fetch_timeout_ms=2000,
    controller_quorum_election_timeout_ms=1000,
)

# How long something takes is for the figures to say: thousands of logs are synced one by one.
PATIENCE_S = 600.0

__all__ = ["KAFKA_DEFAULTS", "QUICK_FAILOVER", "real_cluster", "run_bench", "timeouts"]


def timeouts(settings: Settings) -> str:
    return (
        f"broker.session.timeout.ms={settings.broker_session_timeout_ms} "
        f"broker.heartbeat.interval.ms={settings.broker_heartbeat_interval_ms} "
        f"controller.quorum.fetch.timeout.ms={settings.controller_quorum_fetch_timeout_ms} "
        f"controller.quorum.election.timeout.ms={settings.controller_quorum_election_timeout_ms}"
    )


@asynccontextmanager
async def real_cluster(
    settings: Settings, *, count: int, directory: Path | None
) -> AsyncIterator[Cluster]:
    """In a directory of its own below the given one, removed at the end."""
    with _scratch(directory) as home:
        place = LocalPlace(Path(home))
        system = ReferenceBroker(
            place, settings, start_within_s=PATIENCE_S, stop_within_s=PATIENCE_S
        )
        async with Cluster(system, count=count) as cluster:
            yield cluster


@contextmanager
def _scratch(directory: Path | None) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="bench-", dir=directory) as home:
        yield home


def run_bench(work: Coroutine[None, None, int]) -> None:
    """Ends the program with the bench's exit code; SIGTERM ends it as Ctrl-C does."""

    async def ended_by_signals() -> int:
        task = asyncio.create_task(work)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await task

    try:
        raise SystemExit(asyncio.run(ended_by_signals()))
    except EnvironmentFailure as failure:
        raise SystemExit(f"bench: {failure}") from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise SystemExit("bench: interrupted; the nodes are stopped") from None
