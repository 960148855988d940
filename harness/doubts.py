"""Doubts: reasons why a run proves less than was asked of it, as data.

A doubt caps the verdict at unknown; it never hides an anomaly. What a reason means for the checkers
is decided by its kind alone; `sentence_of` words it for people, last.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DoubtKind(Enum):
    NO_END = "no-end"
    """The run crashed, or was killed: nothing was healed and read back."""
    BROKEN_OFF = "broken-off"
    """A finding of the simulator ended the run."""
    FORGOTTEN = "forgotten"
    """results.json is damaged, so the doubts of the run are lost."""
    TORN = "torn"
    """The history was cut, or its recorder did not come to its end."""
    TOO_FEW_WRITES = "too-few-writes"
    FAULT_MISSED = "fault-missed"
    FAULT_LAPSED = "fault-lapsed"
    """The healing found a fault that had ended too early."""
    NEVER_STRUCK = "never-struck"
    """A nemesis injected no fault."""
    NOT_HEALED = "not-healed"
    """A fault could not be undone, or the cluster was not well afterwards."""
    OUT_OF_SYNC = "out-of-sync"
    """Replicas were not in sync in time after the healing."""
    LEADER_NOT_MOVED = "leader-not-moved"
    """A partition was read back from the node that had taken its records."""
    NOT_READ_BACK = "not-read-back"
    UNANSWERED = "unanswered"
    """A client's last questions had no answer in time."""
    CLIENT_FAILED = "client-failed"
    OLDER = "older"
    """A sentence from a results.json of an earlier schema."""


@dataclass(frozen=True, slots=True)
class Doubt:
    kind: DoubtKind
    subject: str = ""
    """What it is about: a fault, a nemesis, a node, a partition, a client."""
    detail: str = ""
    """The reason, or what was seen instead."""


def sentence_of(doubt: Doubt) -> str:
    return _SENTENCES[doubt.kind].format(subject=doubt.subject, detail=doubt.detail)


_SENTENCES = {
    DoubtKind.NO_END: "the run came to no end: {detail}",
    DoubtKind.BROKEN_OFF: "the run was broken off by a finding",
    DoubtKind.FORGOTTEN: "the doubts of the run are not known: {subject} was damaged: {detail}",
    DoubtKind.TORN: "the history is torn: its recorder did not end, or its files were cut",
    DoubtKind.TOO_FEW_WRITES: "too few writes went well: {detail}",
    DoubtKind.FAULT_MISSED: "{subject} did not take hold: {detail}",
    DoubtKind.FAULT_LAPSED: "as {subject} was healed: {detail}",
    DoubtKind.NEVER_STRUCK: "{subject} never struck: {detail}",
    DoubtKind.NOT_HEALED: "not healed: {detail}",
    DoubtKind.OUT_OF_SYNC: "after the healing, {detail}",
    DoubtKind.LEADER_NOT_MOVED: "{subject} could not be led by another node: {detail}",
    DoubtKind.NOT_READ_BACK: "not everything could be read back {detail}",
    DoubtKind.UNANSWERED: "last questions without an answer {detail}",
    DoubtKind.CLIENT_FAILED: "{subject} {detail}",
    DoubtKind.OLDER: "{detail}",
}
