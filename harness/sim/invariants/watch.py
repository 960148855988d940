"""Looks at a cluster after every step in which one of its nodes told of something.

The nodes' events say where something changed, and only there is looked. A step is one callback of
one process: what lies inside it nobody else can see. The first broken invariant ends the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from broker.inspect import Applied, Touched, touched_by
from harness.sim.invariants.base import Invariant, InvariantBroken
from harness.sim.invariants.epochs_fence import EpochsFence
from harness.sim.invariants.replica import Replica
from harness.sim.invariants.scene import Scene
from harness.sim.invariants.step import Place, Step
from harness.sim.nodes import SimCluster
from harness.sim.trace_sink import News

_ABOUT_A_REPLICA = frozenset({"acknowledged", "role", "learned"})
"""These are weighed together with the replica as it is then."""

_NOTHING_TO_SEE = frozenset(
    {
        "served",
        "isr",
        "group",
        "fenced",
        "commit",
        "commit_refused",
        "transaction",
        "transaction_expired",
        "transaction_timeout",
        "producer_fenced",
        "markers",
        "markers_done",
    }
)
"""Of these the news says all: no replica is different afterwards."""


class Watch:
    """Made before the cluster starts. It changes nothing, neither in the nodes nor in the trace.

    With `everywhere`, each step looks at all replicas, whatever it was about: slow, and there to
    find out whether an event is missing.
    """

    def __init__(
        self, cluster: SimCluster, invariants: Iterable[Invariant], *, everywhere: bool = False
    ) -> None:
        self.invariants = tuple(invariants)
        self.scene = Scene(cluster)
        self.steps = 0
        fences = [each for each in self.invariants if isinstance(each, EpochsFence)]
        self._fence = fences[0] if fences else None
        self._loop = cluster.simulation.loop
        self._everywhere = everywhere
        self._news: list[News] = []
        self._postponed: dict[Place, None] = {}
        self._late: list[News] = []
        """What was told of replicas that could not be looked at then."""
        for node in cluster.nodes.values():
            node.watch(self)

    @property
    def looks(self) -> dict[str, int]:
        """How often each invariant had something to compare."""
        looks: Counter[str] = Counter()
        for each in self.invariants:
            looks[each.name] += each.looks  # several rules may be parts of one invariant
        return dict(looks)

    # What the nodes tell

    def hear(self, news: News) -> None:
        if news.kind == "served" and news.offset == news.epoch:
            # By far the most frequent news, and in order: not worth a look.
            if self._fence is not None:
                self._fence.looks += 1
            return
        if not self._news:
            self._loop.call_next(self.look)
        self._news.append(news)

    def life_began(self, node: str) -> None:
        self.hear(News(0, node, "begin", "", None, None, None, ""))

    def life_ended(self, node: str) -> None:
        self._postponed = {place: None for place in self._postponed if place[0] != node}
        self._late = [each for each in self._late if each.node != node]

    def life_failed(self, node: str, row: int, problem: BaseException) -> None:
        self.hear(News(row, node, "exit", "", None, None, None, problem))

    # The look

    def look(self) -> None:
        """Raises InvariantBroken."""
        if not self._news:
            return
        news, self._news = self._news, []
        row = max((each.row for each in news), default=0)
        step = Step(self.scene, news, row, self._loop.time())
        self.steps += 1
        for place in self._places(news):
            self._touch(step, place)
        self._follow_decisions(step)
        about = [*self._late, *(each for each in news if each.kind in _ABOUT_A_REPLICA)]
        self._late = [each for each in about if _place(each) in self._postponed]
        self._take_down(step, about)
        self._weigh(step, about)
        for invariant in self.invariants:
            violation = invariant.check(step)
            if violation is not None:
                raise InvariantBroken(violation)

    def _places(self, news: list[News]) -> dict[Place, None]:
        places, self._postponed = self._postponed, {}
        for each in news:
            if each.kind not in _NOTHING_TO_SEE and each.partition is not None:
                places[each.node, each.topic, each.partition] = None
        if self._everywhere:
            for replica in self.scene.all_replicas():
                places[replica.node, replica.topic, replica.key[1]] = None
        return places

    def _touch(self, step: Step, place: Place) -> None:
        found = self.scene.look(*place)
        if isinstance(found, Replica):
            step.replicas[place] = found
            step.keys[found.key] = None
        elif found:
            self._postponed[place] = None

    def _follow_decisions(self, step: Step) -> None:
        touched: dict[str, list[Touched]] = {}
        for each in step.of_kind("metadata"):
            assert isinstance(each.detail, Applied)
            touched.setdefault(each.node, []).append(touched_by(each.detail.changes))
        for node, changes in touched.items():
            process = self.scene.process(node)
            followed = None if process is None else self.scene.decided.follow(process, changes)
            if followed is not None:
                step.decided += followed[0]
                step.brokers += followed[1]
                step.keys.update(dict.fromkeys(followed[0]))

    def _take_down(self, step: Step, about: list[News]) -> None:
        """What can be seen by others from now on."""
        ghost, decided = self.scene.ghost, self.scene.decided
        for key in step.decided:
            if decided.was_unclean(key):
                ghost.forgive(key)
        for replica in step.replicas.values():
            conflict = ghost.show(replica, replica.high_watermark)
            step.conflict = step.conflict or conflict
        for each in about:
            leader = step.replica_of(each) if each.kind == "acknowledged" else None
            if leader is not None and leader.leads(each.epoch):
                conflict = ghost.show(leader, each.offset or 0)
                step.conflict = step.conflict or conflict

    def _weigh(self, step: Step, about: list[News]) -> None:
        at_stake = step.at_stake
        at_stake.update(self.scene.ghost.take_grown())
        at_stake.update(dict.fromkeys(step.decided))
        for each in about:
            replica = None if each.kind == "acknowledged" else step.replica_of(each)
            if replica is not None:
                at_stake[replica.key] = None
        for replica in step.replicas.values():
            if self._everywhere or replica.is_new or replica.log.cut_at is not None:
                at_stake[replica.key] = None


def _place(news: News) -> Place:
    return news.node, news.topic, news.partition or 0
