"""The harness as its users have it: a command, its words, its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HARNESS = (sys.executable, "-m", "harness")


@dataclass(frozen=True, slots=True)
class Said:
    exit_code: int
    out: str
    error: str

    @property
    def results(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    def __str__(self) -> str:
        """Short enough to be shown whole: what was doubted, and the end of the rest."""
        doubts = self.results["doubts"] if self.out.startswith("{") else ""
        return f"exit code {self.exit_code}\n{doubts}\n{self.out[-2000:]}\n{self.error[-2000:]}"


def harness(*words: str, cwd: Path, within_s: float = 110, hash_seed: str = "0") -> Said:
    done = subprocess.run(
        [*HARNESS, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=within_s,
        env={**_environment(), "PYTHONHASHSEED": hash_seed},
    )
    return Said(done.returncode, done.stdout, done.stderr)


def _environment() -> dict[str, str]:
    import os

    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": root}
