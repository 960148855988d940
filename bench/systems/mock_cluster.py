"""librdkafka's mock cluster as a process of its own: `python -m bench.systems.mock_cluster`."""

from __future__ import annotations

import signal
import threading

from confluent_kafka import Producer


def main() -> None:
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    host = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = host.list_topics(timeout=10).brokers.values()
    print(f"ready on {broker.host}:{broker.port}", flush=True)
    end.wait()


if __name__ == "__main__":
    main()
