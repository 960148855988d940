"""W-SNAP: a metadata log that does not begin at 0 has a snapshot of all that came before.

And the snapshot's file is there. Whether its content is right shows when a node starts from it:
then W-SMEQ compares what it has become.
"""

from __future__ import annotations

from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.step import Step


class SnapshotCovers:
    name = "W-SNAP"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for replica in step.replicas.values():
            quorum = replica.quorum
            if quorum is None or quorum.log.start == 0:
                continue
            self.looks += 1
            start, snapshot, path = quorum.log.start, quorum.snapshot, quorum.snapshot_path
            if snapshot is None or path is None:
                return step.broken(
                    self.name, f"{replica} begins at {start}, and there is no snapshot"
                )
            if snapshot.end_offset < start:
                return step.broken(
                    self.name,
                    f"{replica} begins at {start}, but its snapshot ends at {snapshot.end_offset}",
                )
            if not step.scene.has_file(replica.node, quorum.log_dir, path):
                return step.broken(self.name, f"{replica} begins at {start}, but {path} is gone")
        return None
