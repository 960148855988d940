"""W-SMEQ: nodes that have applied the same metadata are in the same state.

Compared by a digest of the whole image, after each batch, also when a node came to it by a
snapshot. That costs as much as there are topics and partitions. It cannot see what a node makes of
its image.
"""

from __future__ import annotations

from broker.inspect import applied_offset, metadata_digest
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.step import Step


class EqualImages:
    name = "W-SMEQ"
    cost = Cost.EXPENSIVE

    def __init__(self) -> None:
        self.looks = 0
        self._digests: dict[int, tuple[str, str]] = {}

    def check(self, step: Step) -> Violation | None:
        for node in dict.fromkeys(news.node for news in step.of_kind("metadata")):
            process = step.scene.process(node)
            if process is None:
                continue
            self.looks += 1
            offset, digest = applied_offset(process), metadata_digest(process)
            before, first = self._digests.setdefault(offset, (digest, node))
            if before != digest:
                return step.broken(
                    self.name,
                    f"{node} has applied the metadata up to {offset} and is in another state than "
                    f"{first} was there",
                )
        return None
