"""The file that a shim reads: how far one node's wall clock is off, and how much it gains."""

from __future__ import annotations

import mmap
import struct
import time
from pathlib import Path

_TURN = struct.Struct("=q")
_SETTING = struct.Struct("=qqd")
_SIZE = _TURN.size + 2 * _SETTING.size
_NS = 1_000_000_000


class ClockFile:
    """Also keeps its own account of what it says, so that a jump begins where the clock stands."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(_SIZE))
        self.path = path
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _SIZE)
        self._words = memoryview(self._memory).cast("q")
        self._since_ns = self._offset_ns = 0
        self._gain = 0.0

    @property
    def is_true(self) -> bool:
        return self._offset_ns == 0 and self._gain == 0.0

    def jump(self, by_s: float) -> None:
        now_ns = time.time_ns()
        self._set(now_ns, self._offset_at(now_ns) + round(by_s * _NS), self._gain)

    def skew(self, rate: float) -> None:
        if rate <= 0:
            raise ValueError(f"no clock runs at the rate {rate:g}")
        now_ns = time.time_ns()
        self._set(now_ns, self._offset_at(now_ns), rate - 1)

    def heal(self) -> None:
        self._set(0, 0, 0.0)

    def close(self) -> None:
        self.path.unlink(missing_ok=True)
        self._words.release()
        self._memory.close()

    def _offset_at(self, now_ns: int) -> int:
        return self._offset_ns + int(self._gain * (now_ns - self._since_ns))

    def _set(self, since_ns: int, offset_ns: int, gain: float) -> None:
        self._since_ns, self._offset_ns, self._gain = since_ns, offset_ns, gain
        turn = self._words[0] + 1
        at = _TURN.size + (turn & 1) * _SETTING.size
        _SETTING.pack_into(self._memory, at, since_ns, offset_ns, gain)
        # In one piece, and last: from now on the other setting is in force.
        self._words[0] = turn
