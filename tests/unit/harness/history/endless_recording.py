"""Records until it is killed: python -m tests.unit.harness.history.endless_recording DIR ROWS"""

import sys
from pathlib import Path
from typing import Any

from harness.history.op import Op, OpType
from harness.history.recorder import Recorder


def row(index: int) -> Op:
    """The same row whoever asks, and no two alike; half of them bring a value of their own."""
    kind: OpType = "ok" if index % 2 else "invoke"
    value: Any = [["send", f"t-{index // 8}", index]]
    if index % 2:
        value = [["send", f"t-{index // 8}", [index, f"value {index}"]], ["poll", {"t-0": []}]]
    error = f"E{index}: text" if index % 5 == 4 else None
    return Op(index, index * 10, index % 3, kind, f"f{index // 20}", value, error, f"n{index % 3}")


def main() -> None:
    recorder = Recorder(Path(sys.argv[1]))
    rows_each = int(sys.argv[2])
    # An end, lest a killed test leave it writing for ever.
    for index in range(3_000_000):
        op = row(index)
        recorder.record(op.time_ns, op.process, op.type, op.f, op.value, op.error, op.node)
        if (index + 1) % rows_each == 0:
            recorder.flush()


if __name__ == "__main__":
    main()
