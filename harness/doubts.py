"""Doubts: reasons why a run proves less than was asked of it, as data.

A doubt caps the verdict at unknown; it never hides an anomaly. Its kind alone decides
which checkers may judge the run; `sentence_of` words it for people, last.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DoubtKind(Enum):
    NO_END = "no-end"
    """The run crashed or was killed before it healed the cluster and read the logs back."""
    BROKEN_OFF = "broken-off"
    """A finding of the simulator ended the run."""
    FORGOTTEN = "forgotten"
    """results.json is damaged, so the doubts of the run are lost."""
    TORN = "torn"
    """The history was cut, or its recorder did not finish."""
    TOO_FEW_WRITES = "too-few-writes"
    NO_WRITES_IN_FAULTS = "no-writes-in-faults"
    """Nothing was acknowledged while faults were in force that left a majority alone."""
    FAULT_MISSED = "fault-missed"
    FAULT_LAPSED = "fault-lapsed"
    """The healing found a fault that had ended too early."""
    NEVER_STRUCK = "never-struck"
    """A nemesis injected no fault."""
    NOT_HEALED = "not-healed"
    """A fault could not be healed, or the cluster was not healthy afterwards."""
    OUT_OF_SYNC = "out-of-sync"
    """Replicas were not in sync in time after the healing."""
    LEADER_NOT_MOVED = "leader-not-moved"
    """A partition was read back from the node that had taken its records."""
    NOT_READ_BACK = "not-read-back"
    UNANSWERED = "unanswered"
    """A client's final requests had no answer in time."""
    CLIENT_FAILED = "client-failed"
    OLDER = "older"
    """A sentence from a results.json of an earlier schema."""


@dataclass(frozen=True, slots=True)
class Doubt:
    kind: DoubtKind
    subject: str = ""
    """The fault, nemesis, node, partition or client in question."""
    detail: str = ""
    """The reason, or the observation."""


def sentence_of(doubt: Doubt) -> str:
    return _SENTENCES[doubt.kind].format(subject=doubt.subject, detail=doubt.detail)


_SENTENCES = {
    DoubtKind.NO_END: "the run did not finish: {detail}",
    DoubtKind.BROKEN_OFF: "the simulator stopped the run at a finding",
    DoubtKind.FORGOTTEN: "the doubts of the run are lost: {subject} is damaged: {detail}",
    DoubtKind.TORN: "the history is torn: its recorder did not finish, or its files were cut",
    DoubtKind.TOO_FEW_WRITES: "too few writes were acknowledged: {detail}",
    DoubtKind.NO_WRITES_IN_FAULTS: "no write was acknowledged while a fault was in force "
    "({subject}): {detail}",
    DoubtKind.FAULT_MISSED: "{subject} did not take hold: {detail}",
    DoubtKind.FAULT_LAPSED: "while {subject} was healed: {detail}",
    DoubtKind.NEVER_STRUCK: "{subject} injected no fault: {detail}",
    DoubtKind.NOT_HEALED: "not healed: {detail}",
    DoubtKind.OUT_OF_SYNC: "replicas are not in sync after healing: {detail}",
    DoubtKind.LEADER_NOT_MOVED: "leadership of {subject} could not be moved: {detail}",
    DoubtKind.NOT_READ_BACK: "logs were not read back completely {detail}",
    DoubtKind.UNANSWERED: "final requests had no answer {detail}",
    DoubtKind.CLIENT_FAILED: "{subject} {detail}",
    DoubtKind.OLDER: "{detail}",
}
