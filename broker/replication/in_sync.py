"""Who is in sync: as the controller has written it down, and as it may be by now.

Only the controller changes the set. The leader proposes, one change at a time, and the partition
epoch decides: a proposal holds for the epoch it was made at, and what is older than the epoch
already known changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from broker.metadata.broker_info import UNKNOWN_BROKER_EPOCH
from broker.metadata.partition_info import PartitionInfo
from broker.protocol.errors import ErrorCode


class IsrMember(NamedTuple):
    node_id: int
    broker_epoch: int  # of the life that fetched, -1 when it has not fetched from this leader


class IsrProposal(NamedTuple):
    """The body of an AlterPartition request."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[IsrMember, ...]


_NOT_DONE = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})

_METADATA_WILL_TELL = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class InSync:
    """The state of one leadership. A change of the leader epoch needs a new one."""

    __slots__ = ("_perhaps_added", "in_flight", "info")

    def __init__(self, info: PartitionInfo) -> None:
        self.info = info
        self.in_flight: IsrProposal | None = None
        # Additions that were proposed at this partition epoch, whatever was answered.
        self._perhaps_added: tuple[int, ...] = ()

    @property
    def maximal(self) -> tuple[int, ...]:
        """Everyone whom the controller may elect before we hear of it (KIP-497, KIP-966).

        A removal that was proposed still counts, and so does an eligible leader replica.
        """
        return tuple(dict.fromkeys((*self.info.isr, *self.info.elr, *self._perhaps_added)))

    def propose_addition(self, node_id: int, epochs: Mapping[int, int]) -> IsrProposal | None:
        if self.in_flight is not None or node_id in self.info.isr:
            return None
        self._perhaps_added = (node_id,)
        return self._propose((*self.info.isr, node_id), epochs)

    def propose_removal(
        self, node_ids: tuple[int, ...], epochs: Mapping[int, int]
    ) -> IsrProposal | None:
        if self.in_flight is not None or not node_ids:
            return None
        kept = tuple(node_id for node_id in self.info.isr if node_id not in node_ids)
        return self._propose(kept, epochs)

    def _propose(self, isr: tuple[int, ...], epochs: Mapping[int, int]) -> IsrProposal:
        members = tuple(
            IsrMember(node_id, epochs.get(node_id, UNKNOWN_BROKER_EPOCH)) for node_id in isr
        )
        self.in_flight = IsrProposal(self.info.leader_epoch, self.info.partition_epoch, members)
        return self.in_flight

    def learn(self, info: PartitionInfo) -> bool:
        """From the metadata; False when it says nothing new of this leadership."""
        known = self.info
        if info.leader_epoch != known.leader_epoch or info.partition_epoch < known.partition_epoch:
            return False
        if info.partition_epoch > known.partition_epoch:
            # The proposal was for an epoch that is over: this is its outcome, or it has failed.
            self.in_flight = None
            self._perhaps_added = ()
        # An answer may have told of this epoch already, but it does not tell everything.
        self.info = info
        return info != known

    def accepted(self, proposal: IsrProposal, info: PartitionInfo) -> bool:
        """Whether anything is different now."""
        if info.partition_epoch != self.info.partition_epoch:
            return self.learn(info)
        if proposal != self.in_flight:
            return False
        # Nothing to change, says a controller that needs no new epoch to say so.
        self.in_flight = None
        self._perhaps_added = ()
        return True

    def refused(
        self, proposal: IsrProposal, error: ErrorCode, epochs: Mapping[int, int]
    ) -> IsrProposal | None:
        """What to send next, after a pause. None: nothing, until the metadata changes.

        A time-out or a lost connection is no refusal: the same proposal must be sent again, as
        the first one may have been carried out.
        """
        if proposal != self.in_flight:
            return None
        if error in _METADATA_WILL_TELL:
            return None
        if error not in _NOT_DONE:
            return proposal
        if not self._perhaps_added:
            self.in_flight = None
            return None
        # An earlier copy of it may still be under way, and find the replica eligible again. So
        # the addition counts on until the partition epoch has moved, and this one moves it.
        return self._propose(self.info.isr, epochs)
