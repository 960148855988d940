"""Porcupine, the checker that Go programs use, on a history of ours: what the same search costs it.

It is built from the Go module proxy, outside of this tree, when there is Go and a network; else a
sentence says why there is nothing to compare with. It is given operations in memory, as we are.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.history.op import Op

SOURCE = Path(__file__).with_name("porcupine")
BUILD_SECONDS_MAX = 300
SEARCH_SECONDS_MAX = 60
ROUNDS = 3

_KINDS = {"read": 0, "write": 1, "cas": 2}
_NULL, _UNKNOWN = -1, -2


def compared(rows: Sequence[Op], our_seconds: float) -> str:
    """One line: their time and the ratio, or why there is none."""
    with tempfile.TemporaryDirectory() as scratch:
        program = _built(Path(scratch))
        if isinstance(program, str):
            return f"porcupine         not compared: {program}"
        history = Path(scratch) / "history.txt"
        history.write_text("\n".join(_lines(rows)) + "\n")
        command = [str(program), str(history), str(ROUNDS), str(SEARCH_SECONDS_MAX)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    verdict, seconds = done.stdout.split()
    ratio = float(seconds) / our_seconds
    at_least = "more than " if verdict == "Unknown" else ""
    return (
        f"porcupine         the same {len(_ended(rows)):,} ops: {verdict}, "
        f"{at_least}{float(seconds) * 1e3:.1f} ms, {at_least}{ratio:.1f} times ours"
    )


def _built(directory: Path) -> Path | str:
    """The program, or why there is none."""
    go = shutil.which("go")
    if go is None:
        return "there is no go here"
    tree = shutil.copytree(SOURCE, directory / "source")
    program = directory / "porcupine-register"
    try:
        done = subprocess.run(
            [go, "build", "-o", str(program), "."],
            cwd=tree,
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS_MAX,
        )
    except subprocess.TimeoutExpired:
        return f"it was not built within {BUILD_SECONDS_MAX} s"
    if done.returncode:
        return f"it could not be built: {done.stderr.strip().splitlines()[-1]}"
    return program


def _ended(rows: Sequence[Op]) -> dict[int, Op]:
    """By the index of the invocation, what it came to."""
    begun: dict[int, int] = {}
    ended = {}
    for row in rows:
        if row.type == "invoke":
            begun[row.process] = row.index
        else:
            ended[begun.pop(row.process)] = row
    return ended


def _lines(rows: Sequence[Op]) -> Iterator[str]:
    """Operations of unknown outcome end after all others: there, nobody sees them any more."""
    ended = _ended(rows)
    for row in rows:
        if row.type == "invoke":
            end = ended.get(row.index)
            known = end is not None and end.type != "info"
            returned = end.index if end is not None and known else 2 * len(rows) + row.index
            answer = _answer(end) if end is not None and known else _UNKNOWN
            a, b = row.value if row.f == "cas" else (row.value, None)
            numbers = (row.process, row.index, returned, _KINDS[row.f], _code(a), _code(b), answer)
            yield " ".join(map(str, numbers))


def _answer(end: Op) -> int:
    if end.f == "read":
        return _code(end.value) if end.type == "ok" else _UNKNOWN
    return int(end.type == "ok")


def _code(value: Any) -> int:
    return _NULL if value is None else int(value)
