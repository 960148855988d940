"""Groups: where our coordinator does something else on purpose."""

from __future__ import annotations

from tests.differential.compare import ENDING
from tests.differential.judge import Intended, Kind

_NO_NEW_TARGET = (
    "Kafka leaves the partitions of a member that left unassigned when a static member changes its"
    " protocol during the rebalance; our coordinator assigns them."
)
_TIED = "Among protocols with equally many votes our broker takes the oldest member's favourite."
_REPEATED = "A member asks again while its request waits: Kafka never answers the first request."
_LEFT = "A member leaves by another connection while its SyncGroup waits: Kafka never answers it."
_MEMBER = "groups[*].members[*]"

ENTRIES = (
    *(
        Intended(
            "repeated_group_requests", ENDING, why, Kind.GROUPS, step, kafka="silent",
            ours="response",
        )
        for step, why in {
            "a_join_is_repeated/b joins": _REPEATED,
            "a_sync_is_repeated/b waits": _REPEATED,
            "a_member_leaves_while_its_sync_waits/b waits": _LEFT,
        }.items()
    ),
    *(
        Intended(
            "repeated_group_requests", path, _TIED, Kind.GROUPS, "votes_are_tied/*", kafka=kafka,
            ours=ours,
        )
        for path, kafka, ours in (
            ("protocol_name", "range", "roundrobin"),
            ("members[*].metadata", b"r", b"rr"),
        )
    ),
    *(
        Intended(
            "protocol_changes", path, _NO_NEW_TARGET, Kind.GROUPS,
            "static_members_change_their_protocol_during_a_rebalance/*", kafka=kafka, ours=ours,
        )
        for path, kafka, ours in (
            ("member_epoch", 2, 3),
            ("groups[*].group_epoch", 2, 3),
            ("groups[*].assignment_epoch", 2, 3),
            (f"{_MEMBER}.member_epoch", 2, 3),
            ("assignment.topic_partitions[*].partitions", [0, 1], [0, 1, 2, 3]),
            (f"{_MEMBER}.assignment.topic_partitions[*].partitions", [0, 1], [0, 1, 2, 3]),
            (f"{_MEMBER}.target_assignment.topic_partitions[*].partitions", [0, 1], [0, 1, 2, 3]),
        )
    ),
)  # fmt: skip
