"""Which faults one random life of the quorum has: every seed draws its own mix of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from broker.raft import effects as e
from broker.raft import events as v

CRASH_POINTS = (
    e.Persist,
    e.Reply,
    e.AskVote,
    e.AppendLeaderChange,
    e.AnnounceLeader,
    e.AppendFetched,
    e.TruncateTo,
    e.InstallSnapshot,
    e.HighWatermarkAdvanced,
    v.LogFlushed,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Which faults a life has, and how many: each seed leaves most of them out."""

    voter_count: int
    observer_count: int
    loss: float
    duplication: float
    delay_s_max: float
    flush_s_max: float
    restart_s_max: float
    crash_rate: float
    leader_crash_rate: float
    rotation: bool
    """Leaders crash where it hurts, and stay down until the next one does: they take turns."""

    make_way_rate: float
    """Of leaders whose disk is full."""

    pause_rate: float
    cut_rate: float
    snapshot_rate: float
    append_rate: float
    records_per_fetch: int
    luck: bool
    crash_at: dict[type, float]

    @classmethod
    def draw(cls, random: Random) -> Mix:
        pick = random.choice
        points = random.sample(CRASH_POINTS, k=pick((0, 1, 3, 6)))
        mix = cls(
            voter_count=pick((3, 3, 5)),
            observer_count=pick((0, 1, 2)),
            loss=pick((0, 0, 0.05, 0.2)),
            duplication=pick((0, 0, 0.1, 0.4)),
            delay_s_max=pick((0.005, 0.02, 0.1, 0.5)),
            flush_s_max=pick((0, 0.01, 0.1)),
            restart_s_max=pick((0.01, 0.3, 2)),
            crash_rate=pick((0, 0, 0.005, 0.02)),
            leader_crash_rate=pick((0, 0, 0.05, 0.2)),
            rotation=False,
            make_way_rate=pick((0, 0, 0.05, 0.2)),
            pause_rate=pick((0, 0, 0.01)),
            cut_rate=pick((0, 0, 0.01, 0.03)),
            snapshot_rate=pick((0, 0, 0.01, 0.05)),
            append_rate=pick((0.05, 0.2, 0.5)),
            records_per_fetch=pick((1, 1, 2, 20)),
            luck=pick((False, True)),
            crash_at={kind: pick((0.02, 0.1, 0.4)) for kind in points},
        )
        return mix._rotating(random) if random.random() < 0.25 else mix

    def _rotating(self, random: Random) -> Mix:
        """Four leaders in a row must crash at the right moment to lose a commit of an old epoch."""
        return replace(
            self,
            rotation=True,
            voter_count=3,
            records_per_fetch=1,
            delay_s_max=min(self.delay_s_max, 0.02),
            crash_rate=0.0,
            leader_crash_rate=0.0,
            make_way_rate=0.0,
            crash_at={
                e.HighWatermarkAdvanced: random.choice((0.3, 0.7)),
                v.LogFlushed: random.choice((0.1, 0.3)),
            },
        )
