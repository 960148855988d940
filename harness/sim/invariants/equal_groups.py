"""W-SMEQ: a coordinator's state is what a replay of its log gives to one that has seen nothing.

So a live coordinator and the next one, which has to load, cannot tell different things. Compared by
a digest of all groups and offsets, with everything that records hold; what a change of coordinators
loses is left out. It cannot see a mistake that both make: W-OFFMAT works out the offsets itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker.inspect import GroupReplay, Node, SeenGroups
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.coordinator_log import CoordinatorLog, CoordinatorLogs
from harness.sim.invariants.step import Step


class EqualGroups:
    name = "W-SMEQ"
    cost = Cost.EXPENSIVE

    def __init__(self) -> None:
        self.looks = 0
        self._logs = CoordinatorLogs()
        self._replays: dict[CoordinatorLog, _Replay] = {}

    def check(self, step: Step) -> Violation | None:
        for replica, shard in step.coordinators():
            process = step.scene.process(replica.node)
            assert process is not None, "a node that is down coordinates nothing"
            log = self._logs.of(step, replica)
            if log.problem is not None or log.end != shard.end_offset:
                continue
            self.looks += 1
            if self._replayed(process, log).digest != shard.state.digest:
                return step.broken(
                    self.name, f"{replica}: its groups are not what a replay of its log gives"
                )
        return None

    def _replayed(self, process: Node, log: CoordinatorLog) -> SeenGroups:
        """Only new records are replayed, as long as the log only grows: replaying all of them at
        each look would take half of a run's time."""
        replay = self._replays.get(log)
        if replay is None or replay.reading != log.readings:
            replay = self._replays[log] = _Replay(log.readings, GroupReplay(process))
        replay.groups.take(log.entries[replay.count :])
        replay.count = len(log.entries)
        return replay.groups.state


@dataclass(slots=True)
class _Replay:
    reading: int
    groups: GroupReplay
    count: int = 0
    """Records and markers that were replayed."""
