"""kcat as a speaker: one process per call."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence

from tests.clients.speaker import CODECS, TIMEOUT_S, Acks, Codec, Headers, Message, Start, Stored

KEY_END = b"\x01key\x01"
MESSAGE_END = b"\x01end\x01"
# Lengths first, so that the bytes that follow may be anything; a null has the length -1.
READ_FORMAT = "%o %T %K %S\\n%k%s%h\\n"


class KcatSpeaker:
    name = "kcat"
    codecs = CODECS
    sets_timestamps = False

    def __init__(self, bootstrap: str) -> None:
        assert shutil.which("kcat"), "kcat is not installed; try: apt-get install kcat"
        self._command = ["kcat", "-b", bootstrap, "-X", "message.max.bytes=20000000"]

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
        # Headers and nulls are options of the whole process, so each run of messages that
        # agree in them is a process of its own.
        for (headers, has_key, is_null), group in itertools.groupby(messages, _options):
            command = [*self._command, "-P", "-t", topic, "-p", str(partition), "-z", codec]
            command += ["-X", f"acks={acks}", "-X", f"enable.idempotence={str(idempotent).lower()}"]
            command += ["-X", "linger.ms=5", "-D", MESSAGE_END.decode()]
            if has_key:
                command += ["-K", KEY_END.decode()]
            if is_null:
                command.append("-Z")
            for key, value in headers:
                assert value is not None, "kcat cannot send a header without a value"
                command += ["-H", f"{key}={value.decode()}"]
            lines = [
                (b"" if message.key is None else message.key + KEY_END) + (message.value or b"")
                for message in group
            ]
            subprocess.run(
                command,
                input=MESSAGE_END.join(lines) + MESSAGE_END,
                check=True,
                timeout=TIMEOUT_S,
                capture_output=True,
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
        command = [*self._command, "-C", "-t", topic, "-p", str(partition), "-o", str(start)]
        command += ["-c", str(count), "-f", READ_FORMAT, "-X", "fetch.message.max.bytes=20000000"]
        command += ["-X", "receive.message.max.bytes=60000000"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        stuck = threading.Timer(TIMEOUT_S, process.kill)
        stuck.start()
        try:
            if once_positioned is not None:
                for line in process.stderr:
                    if b"Reached end of topic" in line:
                        break
                once_positioned()
            output, errors = process.communicate()
        finally:
            stuck.cancel()
            process.kill()
            process.wait()
        assert process.returncode == 0, errors.decode()
        return list(_parse(output))

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        asked = self._offset_query(topic, partition, timestamp_ms)
        # kcat prints the end of the log as -1 when no record is that late.
        return None if asked == -1 else asked

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        return (
            self._offset_query(topic, partition, -2),
            self._offset_query(topic, partition, -1),
        )

    def _offset_query(self, topic: str, partition: int, timestamp_ms: int) -> int:
        done = subprocess.run(
            [*self._command, "-Q", "-t", f"{topic}:{partition}:{timestamp_ms}"],
            check=True,
            timeout=TIMEOUT_S,
            capture_output=True,
        )
        return int(done.stdout.decode().rpartition("offset")[2])

    def close(self) -> None:
        pass


def _options(message: Message) -> tuple[Headers, bool, bool]:
    return message.headers, message.key is not None, message.value is None


def _parse(output: bytes) -> Iterator[Stored]:
    position = 0
    while position < len(output):
        line_end = output.index(b"\n", position)
        offset, timestamp_ms, key_size, value_size = map(int, output[position:line_end].split())
        key_start = line_end + 1
        value_start = key_start + max(key_size, 0)
        headers_start = value_start + max(value_size, 0)
        headers_end = output.index(b"\n", headers_start)
        key = output[key_start:value_start] if key_size >= 0 else None
        value = output[value_start:headers_start] if value_size >= 0 else None
        headers = tuple(_headers(output[headers_start:headers_end].decode()))
        yield Stored(offset, timestamp_ms, Message(value, key, headers, timestamp_ms))
        position = headers_end + 1


def _headers(text: str) -> Iterator[tuple[str, bytes]]:
    for pair in filter(None, text.split(",")):
        key, _, value = pair.partition("=")
        yield key, value.encode()
