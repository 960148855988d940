"""W-CAND: whoever the controllers may elect has everything that was ever committed.

Those are the members of the ISR and of the ELR that run in the very life they are counted on in. A
member that is down, or that has started again and is not registered yet, is not looked at: what it
lacks by then shows when it is back. A member that may have lost something in a crash, but has not,
is not found either. Of a partition nothing is asked once an unclean election was allowed in it, nor
in steps that put none of its promises at stake.
"""

from __future__ import annotations

from harness.sim.invariants.base import METADATA, Cost, Violation
from harness.sim.invariants.leader_has_all import explain
from harness.sim.invariants.step import Step


class CandidatesHaveAll:
    name = "W-CAND"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        scene = step.scene
        for key in step.at_stake:
            info = scene.decided.infos.get(key)
            if key == METADATA or info is None or not scene.ghost.of(key).batches:
                continue
            for member in (*info.isr, *info.elr):
                replica = scene.running(member, key) if scene.is_clean(member) else None
                if replica is None:
                    continue
                self.looks += 1
                missing = scene.ghost.missing(replica)
                if missing is not None:
                    group = "ISR" if member in info.isr else "ELR"
                    sentence = explain(replica, f"is in the {group} of", missing)
                    return step.broken(self.name, sentence)
        return None
