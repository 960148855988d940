"""A sweep that cannot fail proves nothing: a broker that is broken on purpose is found out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.log.broker_life import Life
from broker.log.log_directory import LogDirectory
from broker.partition import Partition
from broker.quorum.quorum_state import QuorumStateFile
from broker.raft.events import QuorumState
from broker.replication import follower, leader
from broker.replication.fetch_check import Diverging
from broker.replication.log_view import LogView
from harness.sim.sweep import run_seed

pytestmark = pytest.mark.sweep

Break = Callable[[pytest.MonkeyPatch], None]


def leader_commits_alone(patch: pytest.MonkeyPatch) -> None:
    def advance(self: leader.LeaderState, now: float) -> bool:
        moved = self.end_offset > self.high_watermark
        self.high_watermark = max(self.high_watermark, self.end_offset)
        return moved

    patch.setattr(leader.LeaderState, "_advance", advance)


def diverging_fetch_counts(patch: pytest.MonkeyPatch) -> None:
    """R04."""
    patch.setattr(leader, "check_fetch", lambda *_: None)


def truncates_by_offset_alone(patch: pytest.MonkeyPatch) -> None:
    """R02: as if the leader's epoch had not been told."""

    def truncation(log: LogView, said: Diverging) -> follower.Truncate:
        return follower.Truncate(min(said.end_offset, log.end_offset))

    patch.setattr(follower, "_truncation", truncation)


def forgets_its_vote(patch: pytest.MonkeyPatch) -> None:
    """Q01."""

    async def write(self: QuorumStateFile, state: QuorumState) -> None:
        return None

    patch.setattr(QuorumStateFile, "write", write)


def trusts_what_a_power_loss_left(patch: pytest.MonkeyPatch) -> None:
    """R07, R08: the rebooted replica is taken for complete."""

    real = LogDirectory.load

    async def load(self: LogDirectory, *args: object, **more: object) -> object:
        found = await real(self, *args, **more)  # type: ignore[arg-type]
        self.last_life = Life(self.last_life.broker_epoch, is_unharmed=True)
        return found

    patch.setattr(LogDirectory, "load", load)


def leads_again_in_an_old_epoch(patch: pytest.MonkeyPatch) -> None:
    """Acknowledges what a change of leader has cut off from it: Q05."""

    def step_down(self: Partition, info: object) -> None:
        return None

    patch.setattr(Partition, "_step_down", step_down)


QUICKLY_FOUND = [leader_commits_alone, diverging_fetch_counts]
FOUND = [
    truncates_by_offset_alone,
    forgets_its_vote,
    trusts_what_a_power_loss_left,
    leads_again_in_an_old_epoch,
]


def seeds_until_found(seeds: range) -> list[str]:
    told = []
    for seed in seeds:
        ended = run_seed(seed)
        told.append(f"seed {seed}: {ended.failure}")
        if ended.failure is not None:
            return told
    raise AssertionError("no seed noticed:\n" + "\n".join(told))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("break_it", QUICKLY_FOUND)
def test_a_broken_rule_is_found_quickly(break_it: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    break_it(monkeypatch)
    assert seeds_until_found(range(1, 11))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("break_it", FOUND)
def test_a_broken_rule_is_found(break_it: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    break_it(monkeypatch)
    assert seeds_until_found(range(1, 101))
