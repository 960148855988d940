"""The Apache Java client as a speaker: one JVM that runs java/Speaker.java from source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bench.apache_kafka import java_command
from tests.clients.json_lines import JsonLinesProcess, as_json, from_json
from tests.clients.speaker import CODECS, Acks, Codec, Message, Start, Stored

HOME = Path(__file__).parent / "java"
# A short-lived JVM has no time to earn back what the optimising compiler costs.
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx512m")


class JavaSpeaker:
    name = "java"
    codecs = CODECS
    sets_timestamps = True

    def __init__(self, bootstrap: str) -> None:
        command = java_command("Speaker.java", [bootstrap], SHORT_LIVED)
        self.process = JsonLinesProcess(command, HOME, self.name)

    def produce(
        self,
        topic: str,
        partition: int,
        messages: Sequence[Message],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> None:
        self.process.ask(
            "produce",
            topic=topic,
            partition=partition,
            messages=[as_json(message) for message in messages],
            codec=codec,
            acks=acks,
            idempotent=idempotent,
        )

    def read(
        self,
        topic: str,
        partition: int,
        count: int,
        *,
        start: Start = "beginning",
        once_positioned: Callable[[], None] | None = None,
    ) -> list[Stored]:
        self.process.ask("position", topic=topic, partition=partition, start=str(start))
        if once_positioned is not None:
            once_positioned()
        return [from_json(record) for record in self.process.ask("read", count=count)]

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        offset: int | None = self.process.ask(
            "offsetForTime", topic=topic, partition=partition, timestamp=timestamp_ms
        )
        return offset

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        first, end = self.process.ask("bounds", topic=topic, partition=partition)
        return first, end

    def close(self) -> None:
        self.process.close()
