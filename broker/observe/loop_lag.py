"""Measures how late the event loop is: the delay that every client feels."""

from __future__ import annotations

import asyncio

from broker.observe.metrics import Metrics

_INTERVAL_S = 0.1


async def watch_loop_lag(metrics: Metrics) -> None:
    """Runs until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _INTERVAL_S
        await asyncio.sleep(_INTERVAL_S)
        metrics.loop_lag.observe(max(0.0, loop.time() - due))
