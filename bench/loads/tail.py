"""A tail reader: how long a record takes from its producer to a reader that waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from bench.loads.frames import batch, fetch_request, fetched, produce_request, whole_batches
from bench.loads.raw import Answers, connect
from bench.loads.worker import Carried, Options

MESSAGES_PER_S = 200
_PLACEHOLDER = b"stamp-goes-here-" + bytes(1008)


def tail(options: Options) -> Callable[[], Carried]:
    writer, reading = connect(options["bootstrap"]), connect(options["bootstrap"])
    topic = options["topic"]
    sent_at: dict[int, float] = {}
    frame = produce_request(topic, 0, batch([_PLACEHOLDER]))
    acknowledged = Answers(writer)

    def write(until: float) -> None:
        due, offset = time.perf_counter(), 0
        while due < until:
            time.sleep(max(0.0, due - time.perf_counter()))
            sent_at[offset] = time.perf_counter()
            writer.sendall(frame)
            acknowledged.next()
            offset += 1
            due += 1 / MESSAGES_PER_S

    def carry() -> Carried:
        until = time.perf_counter() + options["seconds"]
        writing = threading.Thread(target=write, args=(until,))
        writing.start()
        found, answers, offset = Carried(), Answers(reading), 0
        while time.perf_counter() < until or writing.is_alive():
            reading.sendall(
                fetch_request(topic, {0: offset}, max_wait_ms=100, bytes_max=1024 * 1024)
            )
            for _, part in fetched(answers.next()):
                now = time.perf_counter()
                for _, _, after in whole_batches(part):
                    found.latencies_us += [
                        (now - sent_at[number]) * 1e6 for number in range(offset, after)
                    ]
                    offset = after
        writing.join()
        found.messages = offset
        found.bytes = offset * len(_PLACEHOLDER)
        return found

    return carry
