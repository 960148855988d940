"""Transcripts of state machines: what is done, a line of dashes, what came of it.

    # A comment tells the reader what to look for.
    elect n2
    ----
    n2: leads epoch 1

A file is a story of such blocks, parted by empty lines. `REWRITE_TRANSCRIPTS=1` writes what the
machine says today into the file, for `git diff` to show.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_DASHES = "----"

Interpreter = Callable[[list[str]], list[str]]
"""The lines of one command in, the lines that it led to out."""


@dataclass(frozen=True, slots=True)
class Block:
    comment: list[str]
    command: list[str]
    outcome: list[str]

    def lines(self) -> list[str]:
        if not self.command:
            return self.comment
        return [*self.comment, *self.command, _DASHES, *self.outcome]


def parse(text: str) -> Iterator[Block]:
    for part in text.strip("\n").split("\n\n"):
        lines = part.split("\n")
        count = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
        comment, rest = lines[:count], lines[count:]
        if rest and _DASHES not in rest:
            raise ValueError(f"a command without {_DASHES}: {rest[0]}")
        at = rest.index(_DASHES) if rest else 0
        yield Block(comment, rest[:at], rest[at + 1 :])


def check(path: Path, interpret: Interpreter) -> None:
    """Plays the file's commands in order, and compares what they lead to, block by block."""
    played: list[Block] = []
    for block in parse(path.read_text()):
        outcome = interpret(block.command) if block.command else []
        played.append(Block(block.comment, block.command, outcome))
        if not os.environ.get("REWRITE_TRANSCRIPTS"):
            said = "\n".join([*block.command, _DASHES, *outcome])
            told = "\n".join([*block.command, _DASHES, *block.outcome])
            assert said == told, f"{path.name}: the machine says something else"
    assert any(block.command for block in played), f"{path.name} has no command"
    if os.environ.get("REWRITE_TRANSCRIPTS"):
        path.write_text("\n\n".join("\n".join(block.lines()) for block in played) + "\n")
