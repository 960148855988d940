"""W-SUPERSET: a leader counts everyone whom the controllers may elect in its place.

Its maximal ISR holds the decided ISR and ELR, for as long as it is the decided leader. If it left
one out, its high watermark could pass what that one has. It cannot see whether the leader uses the
set as it should: that shows in W-HWACK.
"""

from __future__ import annotations

from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.step import Step


class LeaderCountsAll:
    name = "W-SUPERSET"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        decided = step.scene.decided
        for key in step.at_stake:
            info = decided.infos.get(key)
            leadership = None if info is None else step.scene.leadership(info.leader, key)
            if info is None or leadership is None or leadership.leader_epoch != info.leader_epoch:
                continue
            self.looks += 1
            left_out = [
                each for each in (*info.isr, *info.elr) if each not in leadership.maximal_isr
            ]
            if left_out:
                return step.broken(
                    self.name,
                    f"node {info.leader} leads {decided.name(key)} in epoch {info.leader_epoch} "
                    f"and counts {list(leadership.maximal_isr)}, but {left_out} may be elected: "
                    f"the ISR is {list(info.isr)} and the ELR {list(info.elr)}",
                )
        return None
