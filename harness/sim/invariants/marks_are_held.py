"""W-HWACK: what a leader calls committed is in the real logs of those that it counts as in sync.

Not only in the leader's belief about them. Looked at is the last batch below the leader's high
watermark: with W-LOGMATCH, whoever has it has all before it. A member is looked at if it runs in
the life in which it fetched last; one that lost its records in a crash is for W-CAND to find.
"""

from __future__ import annotations

from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.scene import Scene
from harness.sim.invariants.step import Step


class MarksAreHeld:
    name = "W-HWACK"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            sentence = self._look(step.scene, replica)
            if sentence is not None:
                return step.broken(self.name, sentence)
        return None

    def _look(self, scene: Scene, leader: Replica) -> str | None:
        leadership = None if leader.partition is None else leader.partition.leadership
        if leadership is None or scene.ghost.is_forgiven(leader.key):
            return None
        last = leader.log.last_below(leadership.high_watermark)
        if last is None:
            return None
        for each in leadership.followers:
            if each.node_id not in leadership.isr or not scene.lives(
                each.node_id, each.broker_epoch
            ):
                continue
            follower = scene.running(each.node_id, leader.key)
            if follower is None or last.last_offset < follower.seen_log.start:
                continue
            if follower.is_unlike:
                continue  # it may have thrown that batch away, and by right
            self.looks += 1
            has = follower.log.by_base.get(last.base_offset)
            if has is None or (has.leader_epoch, has.crc) != (last.leader_epoch, last.crc):
                return (
                    f"{leader.node} leads {leader.name} in epoch {leadership.leader_epoch} and "
                    f"calls all below {leadership.high_watermark} committed, but {follower.node}, "
                    f"which it counts as in sync, ends at {follower.seen_log.end} and has not the "
                    f"batch at {last.base_offset}; it is believed to be at {each.log_end}"
                )
        return None
