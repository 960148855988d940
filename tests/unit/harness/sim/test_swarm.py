"""Seeds differ in what they are about, and stay within what a cluster may be asked to survive."""

from collections import Counter
from itertools import pairwise

from harness.decisions import Decisions
from harness.schedule.crash_points import CRASHABLE
from harness.schedule.faults import (
    FAULTS,
    ClockJump,
    ClockSkew,
    Cut,
    DiskError,
    DiskFull,
    DiskSlow,
    Kill,
    Pause,
    PowerLoss,
    SlowLinks,
    Stop,
    kind_of,
)
from harness.schedule.schedule import Schedule
from harness.sim.run import draw_schedule
from harness.sim.swarm import _KINDS, SETTLE_MS, Setting, swarm_of, with_swarm

SETTING = Setting(
    nodes=tuple(f"n{number}" for number in range(1, 6)),
    clients=("c1", "c2"),
    begin_ms=5_000.0,
    end_ms=50_000.0,
)


DRAWN = (
    Kill, Stop, PowerLoss, Pause, Cut, SlowLinks, ClockJump, ClockSkew, DiskSlow, DiskFull,
    DiskError,
)  # fmt: skip


def drawn(seed: int) -> Schedule:
    schedule = Schedule(seed=seed, nodes=5, length_ms=60_000.0, operations={"c1": (), "c2": ()})
    return with_swarm(schedule, SETTING)


def test_a_seed_always_draws_the_same_and_its_file_too() -> None:
    for seed in range(20):
        assert drawn(seed) == drawn(seed)
        assert Schedule.of_text(drawn(seed).text()) == drawn(seed)


def test_every_kind_is_in_some_mixes_and_not_in_others() -> None:
    swarms = [swarm_of(Decisions(seed)) for seed in range(100)]
    counts = Counter(kind for swarm in swarms for kind in swarm.kinds)
    assert set(counts) == set(_KINDS)
    assert all(25 < count < 75 for count in counts.values())
    assert 25 < sum(swarm.has_message_faults for swarm in swarms) < 75
    assert 25 < sum(swarm.has_crash_points for swarm in swarms) < 75
    happened = Counter(kind_of(fault) for seed in range(100) for fault in drawn(seed).faults)
    assert set(happened) == set(_KINDS)


def test_every_fault_of_a_machine_and_every_crash_point_is_drawn() -> None:
    assert set(_KINDS) == {kind for kind, fault in FAULTS.items() if fault in DRAWN}
    points = Counter(point.operation for seed in range(100) for point in drawn(seed).crash_points)
    assert set(points) == set(CRASHABLE)
    sizes = [draw_schedule(seed).properties.get("log.segment.bytes") for seed in range(100)]
    assert 25 < sum(size is not None and int(size) < 4000 for size in sizes) < 75


def test_faults_stay_in_their_time_and_leave_a_majority_up() -> None:
    for seed in range(100):
        faults = drawn(seed).faults
        assert all(SETTING.begin_ms <= fault.at_ms <= SETTING.end_ms for fault in faults)
        assert all(fault.at_ms + (fault.for_ms or 0.0) <= SETTING.end_ms + 1e-2 for fault in faults)
        outages = [fault for fault in faults if isinstance(fault, Kill | PowerLoss | Stop | Pause)]
        for fault in outages:
            assert fault.for_ms is not None
            down = {
                other.node
                for other in outages
                if other.at_ms <= fault.at_ms < other.at_ms + (other.for_ms or 0.0)
            }
            assert len(down) <= 2


def test_no_two_nodes_lose_power_before_the_first_has_caught_up() -> None:
    for seed in range(100):
        schedule = drawn(seed)
        losses = [fault for fault in schedule.faults if isinstance(fault, PowerLoss)]
        for first, second in pairwise(losses):
            assert first.at_ms + (first.for_ms or 0.0) + SETTLE_MS <= second.at_ms
        if losses:
            assert schedule.crash_points == ()
        struck = {p.node for p in schedule.crash_points if p.how == "power_loss"}
        assert len(struck) <= 1


def test_a_single_node_has_faults_too() -> None:
    setting = Setting(nodes=("n1",), clients=(), begin_ms=0.0, end_ms=30_000.0)
    for seed in range(30):
        with_swarm(Schedule(seed=seed), setting)
