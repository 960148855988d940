"""key-moved: a record is in a partition that its partitioner never gives for its key.

A partitioner is a function of the key and the number of partitions. A client learns that number
from metadata that may be old, from a broker that may be cut off: so it may use any number that the
topic has had so far, and also an earlier one again after a later one. Nothing bounds how long that
goes on; the statistics say how long it did (`old-count-ms`).

The client names its partitioner in the history. Partitioners that are not known here are not
judged.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from checkers.arrays import Ints64
from checkers.checker import Checker, Evidence
from checkers.clauses import never
from checkers.contract import Contract
from checkers.findings import Finding, Findings, limited
from checkers.log.keyed_sends import (
    NEVER,
    NOTHING,
    KeyedSends,
    Name,
    PartitionCount,
    partition_counts,
    partitioners,
)
from harness.client.driver import place_of
from harness.client.partitioners import BY_NAME


def keys_moved(evidence: Evidence, _: Contract) -> Findings:
    sends = KeyedSends(evidence.facts.columns)
    counts, chosen_by = partition_counts(sends.columns), partitioners(sends.columns)
    wrong: list[tuple[int, str, list[int]]] = []
    looked_at, late_ns = 0, 0
    for own in sends.by_producer_and_key(np.flatnonzero(sends.log >= 0)):
        name = sends.names[int(sends.name[own[0]])]
        partitioner = chosen_by.get(int(sends.process[own[0]]), "")
        assert name is not None, "only such records are here"
        known = counts.get(name.topic, [])
        if partitioner not in BY_NAME or not known:
            continue
        looked_at += own.size
        used = _used(sends, own, known, name, partitioner)
        numbers = [count.partitions for count in known]
        wrong += [(number, partitioner, numbers) for number in own[used < 0].tolist()]
        late_ns = max(late_ns, _late_ns(sends, own, known, used))
    nothing = "no client recorded its partitioner and the number of partitions"
    found = limited(
        "key-moved",
        sorted(wrong),
        len(wrong),
        looked_at=looked_at,
        nothing=nothing if sends.value.size else NOTHING,
        told=lambda each: _told(sends, *each),
    )
    if looked_at:
        found.stats["partitioners"] = dict(sorted(Counter(chosen_by.values()).items()))
        found.stats["old-count-ms"] = round(late_ns / 1e6, 3)
    return found


def _used(
    sends: KeyedSends, own: Ints64, counts: list[PartitionCount], name: Name, partitioner: str
) -> Ints64:
    """For each record the greatest number of partitions that explains where it is, or -1."""
    choose, key = BY_NAME[partitioner], name.key.encode()
    logs, inverse = np.unique(sends.log[own], return_inverse=True)
    partition = np.array([place_of(str(sends.columns.key_of(log))).partition for log in logs])
    used = np.full(own.size, -1, np.int64)
    for count in counts:
        fits = partition[inverse] == choose(key, count.partitions)
        fits &= count.since < sends.end[own]
        used[fits] = count.partitions
    return used


def _late_ns(sends: KeyedSends, own: Ints64, counts: list[PartitionCount], used: Ints64) -> int:
    """How long after more partitions were acknowledged a record was sent by an older number."""
    time_ns = sends.columns.ops.time_ns
    longest = 0
    for count in counts:
        late = own[(used >= 0) & (used < count.partitions) & (sends.call[own] > count.acked)]
        if count.acked != NEVER and late.size:
            last = int(sends.call[late].max())
            longest = max(longest, int(time_ns[last] - time_ns[count.acked]))
    return longest


def _told(sends: KeyedSends, number: int, partitioner: str, counts: list[int]) -> Finding:
    producer = sends.columns.process_of(int(sends.call[number]))
    log = sends.log_text(number)
    return Finding(
        type="key-moved",
        ops=(sends.op(number),),
        because=f"process {producer} sent {sends.text(number)} to {log}, where {partitioner} puts "
        f"that key with none of {', '.join(map(str, counts))} partitions, or not yet",
        witness={
            "key": log,
            "value": int(sends.value[number]),
            "partitioner": partitioner,
            "partitions": counts,
        },
    )


CHECKERS = (
    Checker(
        name="key-moved",
        about="A record is in a partition that its key does not map to.",
        look=keys_moved,
        rows=(
            never(
                "A record is in the partition to which the partitioner maps its key, for "
                "a number of partitions that the topic has had."
            ),
        ),
    ),
)
