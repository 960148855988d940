"""Drawn cluster schedules, played with all invariants, as a command: one line for each seed.

Run under different hash seeds, it must print the same.
"""

from __future__ import annotations

import logging
import sys

from harness.sim.run import draw_schedule, run_schedule


def tell(seed: int, length_ms: float) -> str:
    ended = run_schedule(draw_schedule(seed, length_ms=length_ms))
    return " ".join(
        map(str, (seed, ended.digest, ended.totals, ended.looks, ended.broken, ended.problems))
    )


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    first, last, length = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    for number in range(first, last):
        sys.stdout.write(f"{tell(number, length)}\n")
