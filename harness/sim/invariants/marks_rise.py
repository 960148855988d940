"""W-HWMONO: a high watermark does not go back.

A leader's never does within an epoch, and the log's is the leader's own. Nobody cuts its log below
what it has called committed. An exception is a follower that has to start over where its leader's
log begins. A node that starts again may begin with a lower mark: it has forgotten.
"""

from __future__ import annotations

from harness.sim.invariants.base import Cost, Key, Violation
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step


class MarksRise:
    name = "W-HWMONO"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._marks: dict[tuple[str, int, Key], tuple[int, int]] = {}

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            sentence = self._fallen(replica) or self._cut(step, replica)
            if sentence is not None:
                return step.broken(self.name, sentence)
        return None

    def _fallen(self, replica: Replica) -> str | None:
        leadership = None if replica.partition is None else replica.partition.leadership
        if leadership is None:
            return None
        self.looks += 1
        mark, epoch = replica.high_watermark, leadership.leader_epoch
        if mark != leadership.high_watermark:
            return f"{replica} has the mark {mark}, but its leader {leadership.high_watermark}"
        place = (replica.node, replica.life, replica.key)
        before_epoch, before = self._marks.get(place, (epoch, mark))
        self._marks[place] = (epoch, mark)
        if before_epoch == epoch and mark < before:
            return f"{replica} goes back from {before} to {mark} within epoch {epoch}"
        return None

    def _cut(self, step: Step, replica: Replica) -> str | None:
        log, cut_at = replica.seen_log, replica.log.cut_at
        if cut_at is None or step.scene.ghost.is_forgiven(replica.key):
            return None
        self.looks += 1
        if cut_at < replica.mark_before and log.start < replica.mark_before:
            return (
                f"{replica} is cut at {cut_at}, though it has called all below "
                f"{replica.mark_before} committed"
            )
        return None
