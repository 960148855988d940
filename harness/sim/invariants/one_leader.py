"""W-ELECT: a partition has at most one leader in an epoch, and a voter one vote, for ever.

A leadership belongs to one life of a node: a node that starts again and goes on with the epoch of
its life before may have lost what that one wrote last. Votes are remembered across restarts, as the
voter itself must. It cannot see a vote that was neither answered nor used to stand for election.
"""

from __future__ import annotations

from harness.sim.invariants.base import METADATA, Cost, Key, Violation
from harness.sim.invariants.step import Step
from harness.sim.trace_sink import News


class OneLeader:
    name = "W-ELECT"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0
        self._leaders: dict[tuple[Key, int], tuple[str, int]] = {}
        self._votes: dict[tuple[str, int], str] = {}

    def check(self, step: Step) -> Violation | None:
        for news in step.of_kind("role", "vote"):
            sentence = None
            if news.kind == "vote":
                chosen = None if news.offset is None else step.scene.name_of(news.offset)
                sentence = self._vote(news, chosen)
            elif news.detail == "leader":
                sentence = self._lead(step, news)
            elif news.detail == "candidate":
                sentence = self._vote(news, news.node)
            if sentence is not None:
                return step.broken(self.name, sentence)
        return None

    def _lead(self, step: Step, news: News) -> str | None:
        replica = step.replica_of(news)
        if replica is None or news.epoch is None:
            return None
        self.looks += 1
        led = (news.node, replica.life)
        before = self._leaders.setdefault((replica.key, news.epoch), led)
        if before == led:
            return None
        what = "the quorum" if replica.key == METADATA else replica.name
        if before[0] == news.node:
            return f"{news.node} leads {what} in epoch {news.epoch} in a second life"
        return f"{news.node} leads {what} in epoch {news.epoch}, which {before[0]} led before"

    def _vote(self, news: News, chosen: str | None) -> str | None:
        if chosen is None or news.epoch is None:
            return None
        self.looks += 1
        before = self._votes.setdefault((news.node, news.epoch), chosen)
        if before == chosen:
            return None
        return f"{news.node} votes for {chosen} in epoch {news.epoch}, after {before}"
