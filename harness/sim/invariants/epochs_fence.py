"""W-FENCE: a request that carries another epoch than the node knows is not answered as valid.

For a partition both must be the same. In the quorum a later epoch may be taken over, and is then
the node's own. Looked at are fetches of replicas and of consumers, requests that name a leader
epoch, and what members of the quorum ask each other; not votes, which say themselves for which
epoch they are.
"""

from __future__ import annotations

from broker.inspect import METADATA_TOPIC
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.step import Step
from harness.sim.trace_sink import News


class EpochsFence:
    name = "W-FENCE"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for news in step.of_kind("served"):
            self.looks += 1
            known, asked = news.offset or 0, news.epoch or 0
            if known != asked and (news.topic != METADATA_TOPIC or not _took_over(step, news)):
                return step.broken(
                    self.name,
                    f"{news.node} knows epoch {known} of {news.topic}-{news.partition} and answers "
                    f"a {news.detail} of epoch {asked} as if it were valid",
                )
        return None


def _took_over(step: Step, news: News) -> bool:
    epoch = step.scene.quorum_epoch(news.node)
    known, asked = news.offset or 0, news.epoch or 0
    return epoch is None or known <= asked <= epoch
