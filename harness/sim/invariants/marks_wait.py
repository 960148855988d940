"""W-MINISR: a high watermark moves only while enough replicas are in sync (KIP-966).

The leader's ISR has at least `min.insync.replicas` members whenever its mark moves: so whoever is
eligible (ELR) when the ISR shrinks below that number misses nothing that was committed. The number
is the one that the leader is configured with; whether it has heard of a new one is not asked.
"""

from __future__ import annotations

from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.step import Step
from harness.sim.trace_sink import News


class MarksWait:
    name = "W-MINISR"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._marks: dict[tuple[str, int, str, int], int] = {}
        """By node, its life, topic and partition: the last mark, whoever led then. Who begins to
        lead tells the mark, too, which has not moved by that."""

    def check(self, step: Step) -> Violation | None:
        for news in step.of_kind("high_watermark"):
            if not self._has_moved(step, news):
                continue
            # As it is now, and not as its replica was when that could last be looked at.
            leadership = step.scene.leadership_on(news.node, news.topic, news.partition or 0)
            if leadership is None or leadership.leader_epoch != news.epoch:
                continue
            self.looks += 1
            if len(leadership.isr) < leadership.min_isr:
                return step.broken(
                    self.name,
                    f"{news.node} moves the mark of {news.topic}-{news.partition} to "
                    f"{news.offset}, but only {list(leadership.isr)} are in sync, and "
                    f"min.insync.replicas is {leadership.min_isr}",
                )
        return None

    def _has_moved(self, step: Step, news: News) -> bool:
        life = step.scene.life(news.node)
        place = (news.node, life, news.topic, news.partition or 0)
        mark = news.offset or 0
        before = self._marks.get(place, mark)
        self._marks[place] = mark
        return mark > before
