"""Notices that this node is in the wrong cluster: by what the voters say to its cluster id.

A single voter of another cluster is a mistake made there. When it is most of them, and nobody has
ever known this node's cluster, the mistake was made here. So it is with votes: a candidate that
most of the voters do not count among them has another list of voters than they have.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from broker.protocol.errors import ErrorCode

_log = logging.getLogger(__name__)


class WrongClusterError(Exception):
    """This node's data is of another cluster than its controllers'. For the user."""


class WrongVotersError(WrongClusterError):
    """Two sets of voters could elect two leaders. For the user."""


def check_voters(voters: Sequence[int], of_the_leader: Sequence[int]) -> None:
    """Against what a committed leader has counted on. Raises WrongVotersError."""
    if sorted(voters) != sorted(of_the_leader):
        raise WrongVotersError(
            f"controller.quorum.voters names {sorted(voters)}, but the cluster's leader was "
            f"elected among {sorted(of_the_leader)}; make it the same on all nodes"
        )


class Strangers:
    def __init__(self, cluster_id: str, voter_count: int) -> None:
        self._cluster_id = cluster_id
        self._majority = voter_count // 2 + 1
        self._deniers: dict[int, None] = {}
        self._is_candidate = False
        self._strangers: dict[int, None] = {}
        self._is_known = False

    def answered(self, voter: int, error: int) -> None:
        """Raises WrongClusterError."""
        if error != ErrorCode.INCONSISTENT_CLUSTER_ID:
            self._is_known = self._is_known or not error
            self._strangers.pop(voter, None)
            return
        if voter not in self._strangers:
            _log.error("node %d is of another cluster than %s", voter, self._cluster_id)
            self._strangers[voter] = None
        if not self._is_known and len(self._strangers) >= self._majority:
            voters = ", ".join(str(each) for each in sorted(self._strangers))
            raise WrongClusterError(
                f"this node is of cluster {self._cluster_id}, but the controllers ({voters}) are "
                "of another; compare meta.properties here and there, and controller.quorum.voters"
            )

    def voted(self, voter: int, error: int) -> None:
        """What came of asking for a vote. Raises WrongVotersError."""
        if error != ErrorCode.INCONSISTENT_VOTER_SET:
            self._is_candidate = self._is_candidate or not error
            self._deniers.pop(voter, None)
            return
        if voter not in self._deniers:
            _log.error("node %d does not count this node among the voters", voter)
            self._deniers[voter] = None
        if not self._is_candidate and len(self._deniers) >= self._majority:
            voters = ", ".join(str(each) for each in sorted(self._deniers))
            raise WrongVotersError(
                f"the controllers ({voters}) do not count this node among the voters; make "
                "controller.quorum.voters the same on all nodes"
            )
