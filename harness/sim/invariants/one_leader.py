"""W-ELECT: a partition has at most one leader in an epoch, and a voter one vote, for ever.

A leadership belongs to one life of a node: a node that starts again and goes on with the epoch of
its life before may have lost what that one wrote last. Votes are remembered across restarts, as the
voter itself must.

Both are taken from what nodes say and from what they are. A role that was restored at a start is a
leadership though nobody spoke of it, and a voter that has spoken in an epoch still knows its vote
for as long as it is in that epoch. A vote that is in memory only, and was neither answered nor used
to stand for election, binds nobody: the voter may forget it in a crash.
"""

from __future__ import annotations

from harness.sim.invariants.base import METADATA, Cost, Key, Violation
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.step import Step
from harness.sim.trace_sink import News


class OneLeader:
    name = "W-ELECT"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._leaders: dict[tuple[Key, int], tuple[str, int]] = {}
        self._votes: dict[tuple[str, int], str] = {}
        self._standings: dict[str, tuple[int, tuple[str, int, int | None] | None]] = {}
        """By node: its life, and how it stood in the quorum when it was last looked at."""
        self._beginning: dict[str, None] = {}
        """Nodes that have just started: what they restore is looked at, whoever speaks first."""

    def check(self, step: Step) -> Violation | None:
        sentence = self._said(step) or self._are(step)
        return None if sentence is None else step.broken(self.name, sentence)

    def _said(self, step: Step) -> str | None:
        for news in step.of_kind("role", "vote"):
            sentence = None
            if news.kind == "vote":
                chosen = None if news.offset is None else step.scene.name_of(news.offset)
                sentence = self._vote(news, chosen)
            elif news.detail == "leader":
                replica = step.replica_of(news)
                if replica is not None and news.epoch is not None:
                    self.looks += 1
                    sentence = self._lead(replica.node, replica.life, replica.key, news.epoch,
                                          replica.name)  # fmt: skip
            elif news.detail == "candidate":
                sentence = self._vote(news, news.node)
            if sentence is not None:
                return sentence
        return None

    def _are(self, step: Step) -> str | None:
        for replica in step.replicas.values():
            sentence = self._leads(replica)
            if sentence is not None:
                return sentence
        for each in step.of_kind("begin"):
            self._beginning[each.node] = None
        for node in {**dict.fromkeys(each.node for each in step.news), **self._beginning}:
            seen = (step.scene.life(node), step.scene.standing(node))
            if seen != self._standings.get(node):
                self._standings[node] = seen
                if seen[1] is not None:
                    self._beginning.pop(node, None)
                sentence = self._stands(step, node, *seen)
                if sentence is not None:
                    return sentence
        return None

    def _leads(self, replica: Replica) -> str | None:
        leadership = None if replica.partition is None else replica.partition.leadership
        if leadership is None:
            return None
        epoch = leadership.leader_epoch
        return self._lead(replica.node, replica.life, replica.key, epoch, replica.name)

    def _stands(
        self, step: Step, node: str, life: int, standing: tuple[str, int, int | None] | None
    ) -> str | None:
        if standing is None:
            return None
        role, epoch, voted_for = standing
        if role == "leader":
            sentence = self._lead(node, life, METADATA, epoch, "the quorum")
            if sentence is not None:
                return sentence
        spoken = self._votes.get((node, epoch))
        if spoken is None:
            return None
        self.looks += 1
        known = None if voted_for is None else step.scene.name_of(voted_for)
        if known == spoken:
            return None
        if known is None:
            return f"{node} has forgotten that it voted for {spoken} in epoch {epoch}"
        return f"{node} holds a vote for {known} in epoch {epoch}, after it voted for {spoken}"

    def _lead(self, node: str, life: int, key: Key, epoch: int, name: str) -> str | None:
        led = (node, life)
        before = self._leaders.setdefault((key, epoch), led)
        if before == led:
            return None
        what = "the quorum" if key == METADATA else name
        if before[0] == node:
            return f"{node} leads {what} in epoch {epoch} in a second life"
        return f"{node} leads {what} in epoch {epoch}, which {before[0]} led before"

    def _vote(self, news: News, chosen: str | None) -> str | None:
        if chosen is None or news.epoch is None:
            return None
        self.looks += 1
        before = self._votes.setdefault((news.node, news.epoch), chosen)
        if before == chosen:
            return None
        return f"{news.node} votes for {chosen} in epoch {news.epoch}, after {before}"
