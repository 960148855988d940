"""A frame that is sent is delivered or dropped, and the trace tells which, and why."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from harness.decisions import Override
from harness.sim.connection import SimConnection
from harness.sim.flow import WINDOW_BYTES
from harness.sim.record import Record
from harness.sim.run import _play, draw_schedule
from harness.sim.simulation import Simulation
from harness.sim.stage import set_up
from tests.unit.harness.sim.peers import Pair, frame

LOSES = Override("request_lost_at_close", "a>b:9092#1", 0, 0.1)


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with Simulation(3, overrides=[LOSES]) as simulation:
        yield simulation


Story = Callable[[Pair, SimConnection, SimConnection], None]


def beyond_the_window(pair: Pair, client: SimConnection, server: SimConnection) -> None:
    server.pause_reading()
    client.send((frame(bytes(WINDOW_BYTES)),))
    client.send((frame(b"too much"),))


def close_with_bytes_unsent(pair: Pair, client: SimConnection, server: SimConnection) -> None:
    beyond_the_window(pair, client, server)
    client.close()


def lose_power_with_bytes_unsent(pair: Pair, client: SimConnection, server: SimConnection) -> None:
    beyond_the_window(pair, client, server)
    pair.simulation.network.power_lost("a", 0)


def close_unread(pair: Pair, client: SimConnection, server: SimConnection) -> None:
    server.pause_reading()
    client.send((frame(b"never read"),))
    pair.simulation.loop.call_later(1.0, server.close)


def close_during_a_cut(pair: Pair, client: SimConnection, server: SimConnection) -> None:
    pair.there.cut()
    client.send((frame(b"held"),))
    pair.simulation.loop.call_later(1.0, client.close)


def lose_power_during_a_cut(pair: Pair, client: SimConnection, server: SimConnection) -> None:
    pair.there.cut()
    client.send((frame(b"held"),))
    pair.simulation.loop.call_later(1.0, pair.simulation.network.power_lost, "a", 0)


def lose_power_before_the_cut(pair: Pair, client: SimConnection, server: SimConnection) -> None:
    client.send((frame(b"on its way"),))
    pair.there.cut()
    pair.simulation.network.power_lost("a", 0)


@pytest.mark.parametrize(
    ("story", "told"),
    [
        (close_with_bytes_unsent, ["drop: closed before it left"]),
        (lose_power_with_bytes_unsent, ["drop: sender down"]),
        (close_unread, ["drop: unread"]),
        (close_during_a_cut, ["hold: a cut", "drop: closed during a cut"]),
        (lose_power_during_a_cut, ["hold: a cut", "drop: sender down"]),
        (lose_power_before_the_cut, ["drop: sender down"]),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_what_vanishes_is_told_with_the_reason(
    story: Story, told: list[str], simulation: Simulation
) -> None:
    pair = Pair(simulation)

    async def main() -> None:
        client, server = await pair.meet()
        story(pair, client, server)
        await asyncio.sleep(10)

    simulation.run(main(), deadline_s=60)
    rows = [row for row in simulation.trace.rows() if row.kind in ("drop", "hold")]
    assert [f"{row.kind}: {row.detail}" for row in rows] == told
    for row in rows:
        assert simulation.trace.row(row.cause).kind == "send"


@pytest.mark.parametrize("seed", [3, 8])
def test_every_frame_of_a_drawn_run_is_delivered_or_dropped_once(seed: int) -> None:
    stage = set_up(draw_schedule(seed, nodes=3, length_ms=20_000))
    with stage.simulation as simulation:
        simulation.run(_play(stage, Record()), deadline_s=300)
        rows = list(simulation.trace.rows())
        early_ns = int((simulation.now_s - 5.0) * 1e9)
    sends = {row.id for row in rows if row.kind == "send" and row.time_ns < early_ns}
    ends = Counter(row.cause for row in rows if row.kind in ("deliver", "drop"))
    assert sends - set(ends) == set()
    assert [rows[send - 1] for send in sends if ends[send] > 1] == []
