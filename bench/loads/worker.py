"""The client side of a round, as a process of its own: `python -m bench.loads.worker JSON`.

It gets everything ready, prints `ready`, waits for a line on its input, carries the load and
prints its result as JSON. So the cost of connecting and of preparing is in nobody's figures.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Options = Mapping[str, Any]


@dataclass
class Carried:
    """What a load achieved."""

    messages: int = 0
    bytes: int = 0
    latencies_us: list[float] = field(default_factory=list)


# Called once to prepare; what it returns carries the load when called.
Load = Callable[[Options], Callable[[], Carried]]


def _loads() -> Mapping[str, Load]:
    from bench.loads import crowd, librdkafka, raw, tail

    return {
        "librdkafka produce": librdkafka.produce,
        "librdkafka consume": librdkafka.consume,
        "librdkafka sync": librdkafka.synchronous,
        "librdkafka paced": librdkafka.paced,
        "raw produce": raw.produce,
        "raw consume": raw.consume,
        "raw sync": raw.synchronous,
        "raw scan": raw.scan,
        "tail": tail.tail,
        "crowd": crowd.crowd,
        "open loop": crowd.open_loop,
    }


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def main() -> None:
    options: Options = json.loads(sys.argv[1])
    carry = _loads()[options["load"]](options)
    print("ready", flush=True)
    sys.stdin.readline()
    cpu_before, before = _cpu_s(), time.perf_counter()
    carried = carry()
    seconds, cpu_s = time.perf_counter() - before, _cpu_s() - cpu_before
    ordered = sorted(carried.latencies_us)
    result = {
        "messages": carried.messages,
        "bytes": carried.bytes,
        "seconds": seconds,
        "client_cpu_s": cpu_s,
        "p50_us": quantile(ordered, 0.5),
        "p99_us": quantile(ordered, 0.99),
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
