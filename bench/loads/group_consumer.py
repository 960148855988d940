"""One member of a consumer group as a process: `python -m bench.loads.group_consumer JSON`.

It subscribes and polls until its input ends. It prints one JSON object per line: `assigned` with
the partitions that it has after a change, `first` when the first record of a partition arrives
after its assignment, and `received` at the end, the moments at which records arrived by partition.
Moments are of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import defaultdict
from typing import Any

from confluent_kafka import Consumer, TopicPartition

POLL_S = 0.1


class Member:
    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self._owned: set[int] = set()
        self._awaited: set[int] = set()
        self._received: defaultdict[int, list[float]] = defaultdict(list)
        self._consumer = Consumer(settings)
        self._consumer.subscribe(
            [topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked
        )

    def poll(self) -> None:
        message = self._consumer.poll(POLL_S)
        if message is None or message.error() is not None:
            return
        partition, now = message.partition(), time.monotonic()
        assert partition is not None
        self._received[partition].append(now)
        if partition in self._awaited:
            self._awaited.discard(partition)
            _say("first", partition=partition, at=now)

    def end(self) -> None:
        _say("received", moments=self._received)
        self._consumer.close()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        gained = {one.partition for one in partitions}
        self._owned |= gained
        self._awaited |= gained
        _say("assigned", partitions=sorted(self._owned), at=time.monotonic())

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        lost = {one.partition for one in partitions}
        self._owned -= lost
        self._awaited -= lost
        _say("assigned", partitions=sorted(self._owned), at=time.monotonic())


def _say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def main() -> None:
    options = json.loads(sys.argv[1])
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    member = Member(options["topic"], options["settings"])
    while not ended.is_set():
        member.poll()
    member.end()


if __name__ == "__main__":
    main()
