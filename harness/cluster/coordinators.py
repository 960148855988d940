"""Which partition of Kafka's internal topics decides who coordinates a group or a producer."""

from __future__ import annotations

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
_MASK = 0xFFFFFFFF


def coordinator_partition(group: str, count: int) -> int:
    """The partition whose leader is the coordinator of this group, or of this transactional id:
    Java's hash of the name."""
    units = memoryview(group.encode("utf-16-be")).cast("B")
    code = 0
    for at in range(0, len(units), 2):
        code = (31 * code + (units[at] << 8 | units[at + 1])) & _MASK
    return (code & 0x7FFFFFFF) % count
