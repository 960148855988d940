"""Faults of a schedule strike at their times, end at theirs, and may overlap."""

import asyncio
import errno

import pytest

from harness.schedule.crash_points import CrashPoint
from harness.schedule.faults import (
    CLIENTS,
    ClockJump,
    ClockSkew,
    Cut,
    DiskError,
    DiskFull,
    DiskReadOnly,
    DiskSlow,
    Fault,
    Kill,
    Pause,
    PowerLoss,
    RollingRestart,
    ShapeLinks,
    SlowLinks,
    Stop,
    both_ways,
)
from harness.schedule.schedule import Schedule, ScheduleError
from harness.sim.director import check_playable
from harness.sim.stage import Stage, set_up


def played(*faults: Fault, until_s: float = 20.0) -> Stage:
    stage = set_up(Schedule(seed=1, nodes=1, faults=faults, operations={"c1": ()}))

    async def main() -> None:
        await stage.cluster.start()
        await asyncio.sleep(until_s - stage.simulation.now_s)

    stage.simulation.run(main(), deadline_s=100)
    return stage


def times_s(stage: Stage, *kinds: str) -> list[tuple[str, float]]:
    return [
        (row.kind, row.time_ns / 1e9) for row in stage.simulation.trace.rows() if row.kind in kinds
    ]


def test_a_fault_that_takes_a_nemesis_is_refused_with_a_sentence() -> None:
    restart = RollingRestart(name="f", at_ms=1.0, nodes=("n1",))
    with pytest.raises(ScheduleError, match=r"fault 'f': a rolling_restart is for a run with a"):
        check_playable([restart])
    cut = Cut(name="f", at_ms=1.0, links=((CLIENTS, "n1"),))
    with pytest.raises(ScheduleError, match="each client has a host of its own here"):
        check_playable([cut])


def test_a_kill_and_a_start_at_their_times() -> None:
    stage = played(Kill(name="f", at_ms=5000.0, for_ms=2000.0, node="n1"))
    with stage.simulation:
        assert times_s(stage, "crash", "start") == [("start", 0.0), ("crash", 5.0), ("start", 7.0)]
        assert stage.director.carried_out == {"kill": 1}


def test_a_stop_is_clean_and_the_node_is_started_again_when_it_has_ended() -> None:
    stage = played(
        Stop(name="f1", at_ms=5000.0, for_ms=2000.0, node="n1"),
        Stop(name="f2", at_ms=10_000.0, for_ms=0.001, node="n1"),
    )
    with stage.simulation:
        seen = times_s(stage, "stop", "crash", "start")
        assert [kind for kind, _ in seen] == ["start", "stop", "start", "stop", "start"]
        assert 5.0 < seen[1][1] < 6.0
        assert seen[2][1] == 7.0
        assert 10.001 < seen[3][1] == seen[4][1]
        assert stage.director.carried_out == {"stop": 2}


def test_who_does_not_stop_in_time_is_killed() -> None:
    stage = set_up(
        Schedule(seed=1, faults=(Stop(name="f", at_ms=5000.0, for_ms=50_000.0, node="n1"),))
    )

    async def never() -> None:
        await asyncio.get_running_loop().create_future()

    async def main() -> None:
        await stage.cluster.start()
        node = stage.cluster["n1"].node
        assert node is not None
        node.stop = never  # type: ignore[method-assign]
        await asyncio.sleep(60.0)

    with stage.simulation:
        stage.simulation.run(main(), deadline_s=100)
        assert times_s(stage, "stop", "crash", "start") == [
            ("start", 0.0),
            ("crash", 35.0),
            ("start", 55.0),
        ]


def test_a_node_is_up_again_when_the_last_of_its_outages_has_ended() -> None:
    stage = played(
        Kill(name="f1", at_ms=5000.0, for_ms=2000.0, node="n1"),
        PowerLoss(name="f2", at_ms=6000.0, for_ms=5000.0, node="n1"),
        Kill(name="f3", at_ms=6500.0, for_ms=100.0, node="n1"),
    )
    with stage.simulation:
        assert times_s(stage, "crash", "start") == [
            ("start", 0.0),
            ("crash", 5.0),
            ("crash", 6.0),
            ("start", 11.0),
        ]
        missed = [row.detail for row in stage.simulation.trace.rows() if "missed" in row.detail]
        assert missed == ["f3: missed, n1 is down"]
        assert stage.director.carried_out == {"kill": 1, "power_loss": 1}


def test_overlapping_pauses_end_with_the_last_and_do_not_outlive_the_process() -> None:
    stage = played(
        Pause(name="f1", at_ms=5000.0, for_ms=2000.0, node="n1"),
        Pause(name="f2", at_ms=6000.0, for_ms=2000.0, node="n1"),
        Pause(name="f3", at_ms=10_000.0, for_ms=5000.0, node="n1"),
        Kill(name="f4", at_ms=11_000.0, for_ms=1000.0, node="n1"),
        Pause(name="f5", at_ms=14_000.0, for_ms=3000.0, node="n1"),
    )
    with stage.simulation:
        assert times_s(stage, "resume") == [("resume", 8.0), ("resume", 17.0)]


def test_clocks_jump_and_come_back() -> None:
    faults = (
        ClockJump(name="f1", at_ms=2000.0, for_ms=1000.0, node="n1", by_ms=60_000.0),
        ClockSkew(name="f2", at_ms=4000.0, for_ms=1000.0, node="n1", rate=2.0),
    )
    stage = set_up(Schedule(seed=1, faults=faults))
    clock, seen = stage.cluster["n1"].clock, list[int]()
    begin = clock.now_ms()

    async def main() -> None:
        for _ in range(12):
            await asyncio.sleep(0.5)
            seen.append(clock.now_ms() - begin)

    with stage.simulation:
        stage.simulation.run(main(), deadline_s=100)
    # Between the events, so that it does not matter who was first at an instant.
    assert seen[0] == 500
    assert seen[4] == 62_500
    assert seen[6] == 3_500
    assert seen[8] == 5_000
    assert seen[10] == 6_500


def test_a_clock_runs_at_the_last_rate_that_has_not_ended() -> None:
    faults = (
        ClockSkew(name="f1", at_ms=1000.0, for_ms=3000.0, node="n1", rate=2.0),
        ClockSkew(name="f2", at_ms=2000.0, for_ms=1000.0, node="n1", rate=0.5),
        ClockSkew(name="f3", at_ms=3500.0, for_ms=2000.0, node="n1", rate=4.0),
    )
    stage = set_up(Schedule(seed=1, faults=faults))
    clock = stage.cluster["n1"].clock

    async def main() -> list[float]:
        rates = []
        for _ in range(13):
            before = clock.now_ms()
            await asyncio.sleep(0.25)
            rates.append((clock.now_ms() - before) / 250)
            await asyncio.sleep(0.25)
        return rates

    with stage.simulation:
        rates = stage.simulation.run(main(), deadline_s=100)
    # At 3.5 s the third begins, at 4 s the first ends, at 5.5 s the third.
    assert rates == [1, 1, 2, 2, 0.5, 0.5, 2, 4, 4, 4, 4, 1, 1]


def test_a_node_struck_by_a_crash_point_and_a_kill_is_up_when_both_are_over() -> None:
    stage = set_up(
        Schedule(
            seed=1,
            operations={"c1": ()},
            faults=(PowerLoss(name="f1", at_ms=100.0, for_ms=5000.0, node="n1"),),
            crash_points=(
                CrashPoint(node="n1", operation="replace", nth=1, how="kill", for_ms=1000.0),
            ),
        )
    )

    async def main() -> None:
        await stage.cluster.start()
        await asyncio.sleep(10.0)

    with stage.simulation:
        stage.simulation.run(main(), deadline_s=100)
        seen = times_s(stage, "crash", "start")
    [began, killed, lost, up] = seen
    assert (began, lost, up) == (("start", 0.0), ("crash", 0.1), ("start", 5.1))
    assert killed[0] == "crash"


def test_links_are_cut_and_slowed_for_a_while() -> None:
    links = both_ways(("n1", "c1"))
    stage = set_up(
        Schedule(
            seed=1,
            operations={"c1": ()},
            faults=(
                Cut(name="f1", at_ms=1000.0, for_ms=1000.0, links=(*links, *links)),
                SlowLinks(name="f2", at_ms=3000.0, for_ms=1000.0, links=links, extra_ms=500.0),
                ShapeLinks(name="f3", at_ms=5000.0, for_ms=1000.0, links=links, delay_ms=500.0),
            ),
        )
    )
    link = stage.simulation.network.link("c1", "n1")
    seen: list[tuple[bool, bool]] = []

    async def main() -> None:
        await asyncio.sleep(0.5)
        for _ in range(7):
            seen.append((link.is_cut, link.arrival_ns(0, 0, 0.0) > 400_000_000))
            await asyncio.sleep(1)

    with stage.simulation:
        stage.simulation.run(main(), deadline_s=100)
    assert seen == [
        (False, False), (True, False), (False, False), (False, True), (False, False),
        (False, True), (False, False),
    ]  # fmt: skip


def test_disks_are_full_slow_and_broken_for_a_while() -> None:
    faults = (
        DiskFull(name="f1", at_ms=1000.0, for_ms=1000.0, node="n1"),
        DiskSlow(name="f2", at_ms=3000.0, for_ms=1000.0, node="n1", extra_ms=300.0),
        DiskError(name="f3", at_ms=5000.0, for_ms=1000.0, node="n1", operation="replace"),
        DiskReadOnly(name="f4", at_ms=7000.0, for_ms=1000.0, node="n1"),
    )
    stage = set_up(Schedule(seed=1, faults=faults))
    [disk] = stage.cluster["n1"].disks.values()

    async def main() -> list[int | None]:
        outcomes: list[int | None] = []
        await asyncio.sleep(0.5)
        for _ in range(9):
            began = stage.simulation.now_s
            try:
                await disk.replace("file", b"some bytes")
                outcomes.append(None)
            except OSError as error:
                outcomes.append(error.errno)
            took = stage.simulation.now_s - began
            assert (took > 0.3) == (3.0 < began < 4.0)
            await asyncio.sleep(1.0 - took)
        return outcomes

    with stage.simulation:
        outcomes = stage.simulation.run(main(), deadline_s=100)
    assert outcomes == [None, errno.ENOSPC, None, None, None, errno.EIO, None, errno.EROFS, None]


def test_a_fault_that_lasts_for_ever_is_never_healed() -> None:
    stage = played(Kill(name="f", at_ms=5000.0, node="n1"))
    with stage.simulation:
        assert not stage.cluster["n1"].is_running
        assert times_s(stage, "heal") == []
