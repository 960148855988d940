"""What must be true of a cluster at every moment: one rule to a file, asked by `watch.Watch`."""

from __future__ import annotations

from harness.sim.invariants.base import Cost as Cost
from harness.sim.invariants.base import Invariant
from harness.sim.invariants.candidates_have_all import CandidatesHaveAll
from harness.sim.invariants.current_commits import CurrentCommits
from harness.sim.invariants.decided_transactions import DecidedTransactions
from harness.sim.invariants.durable_commits import DurableCommits
from harness.sim.invariants.epochs_fence import EpochsFence
from harness.sim.invariants.equal_compaction import EqualCompaction
from harness.sim.invariants.equal_groups import EqualGroups
from harness.sim.invariants.equal_images import EqualImages
from harness.sim.invariants.equal_logs import EqualLogs
from harness.sim.invariants.kept_places import KeptPlaces
from harness.sim.invariants.known_producers import KnownProducers
from harness.sim.invariants.known_transactions import KnownTransactions
from harness.sim.invariants.last_stable import LastStable
from harness.sim.invariants.leader_counts_all import LeaderCountsAll
from harness.sim.invariants.leader_has_all import LeaderHasAll
from harness.sim.invariants.markers_everywhere import MarkersEverywhere
from harness.sim.invariants.marks_are_held import MarksAreHeld
from harness.sim.invariants.marks_rise import MarksRise
from harness.sim.invariants.marks_wait import MarksWait
from harness.sim.invariants.no_surrender import NoSurrender
from harness.sim.invariants.offsets_in_order import OffsetsInOrder
from harness.sim.invariants.offsets_match import OffsetsMatch
from harness.sim.invariants.one_leader import OneLeader
from harness.sim.invariants.one_owner import OneOwner
from harness.sim.invariants.owned_producers import OwnedProducers
from harness.sim.invariants.rising_epochs import RisingEpochs
from harness.sim.invariants.sequences_follow import SequencesFollow
from harness.sim.invariants.snapshot_covers import SnapshotCovers
from harness.sim.invariants.sound_batches import SoundBatches
from harness.sim.invariants.sound_isr import SoundIsr

INVARIANTS = (
    OneLeader,
    SoundBatches,
    EqualLogs,
    RisingEpochs,
    OffsetsInOrder,
    MarksRise,
    MarksWait,
    LeaderHasAll,
    CandidatesHaveAll,
    MarksAreHeld,
    LeaderCountsAll,
    SoundIsr,
    EpochsFence,
    SnapshotCovers,
    DurableCommits,
    NoSurrender,
    EqualImages,
    KnownProducers,
    SequencesFollow,
    LastStable,
    DecidedTransactions,
    OwnedProducers,
    MarkersEverywhere,
    KnownTransactions,
    EqualCompaction,
    KeptPlaces,
    OffsetsMatch,
    EqualGroups,
    OneOwner,
    CurrentCommits,
)
"""In the order in which they are asked: the first one that is broken is told."""


def invariants(cost: Cost = Cost.EXPENSIVE) -> list[Invariant]:
    """Fresh ones, as each remembers what it saw: all of them, or only the cheap ones."""
    every: list[Invariant] = [make() for make in INVARIANTS]
    return [each for each in every if cost is Cost.EXPENSIVE or each.cost is Cost.CHEAP]
