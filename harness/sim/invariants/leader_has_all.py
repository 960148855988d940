"""W-LEADC: whoever leads has everything that was ever committed (leader completeness).

A partition's leader is the one that the controllers have decided on, once it leads in that epoch. A
leader of the quorum need not have what later epochs committed: it may not know yet that it was
deposed. Nothing is asked of a partition whose topic allowed an unclean election.
"""

from __future__ import annotations

from harness.sim.invariants.base import METADATA, Cost, Violation
from harness.sim.invariants.ghost import Exposed
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step


class LeaderHasAll:
    name = "W-LEADC"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for key in step.at_stake:
            leader = None if key == METADATA else step.scene.leader(key)
            if leader is not None:
                self.looks += 1
                missing = step.scene.ghost.missing(leader)
                if missing is not None:
                    return step.broken(self.name, explain(leader, "leads", missing))
        for news in step.of_kind("role"):
            replica = step.replica_of(news)
            if replica is not None and replica.quorum is not None and news.detail == "leader":
                self.looks += 1
                missing = step.scene.ghost.missing(replica, before_epoch=replica.quorum.epoch)
                if missing is not None:
                    return step.broken(self.name, explain(replica, "leads", missing))
        return None


def explain(replica: Replica, does: str, missing: Exposed) -> str:
    has = replica.log.by_base.get(missing.base_offset)
    what = f"offsets {missing.base_offset} to {missing.last_offset} of epoch {missing.leader_epoch}"
    instead = "" if has is None else f" (it has epoch {has.leader_epoch} there)"
    return (
        f"{replica.node} {does} {replica.name} in epoch {replica.epoch} without {what}{instead}, "
        f"which {missing.shown_by} has shown as committed; its log ends at {replica.seen_log.end}"
    )
