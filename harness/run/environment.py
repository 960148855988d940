"""What a run ran on and with: versions, kernel, the tree's own state; env.json is its file."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("log-trial", "confluent-kafka", "aiokafka", "pyarrow", "numpy", "networkx", "fabric")


def environment(plugins: Sequence[str] = ()) -> dict[str, object]:
    """`plugins` are files or modules, as typed."""
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "plugins": {word: _digest(word) for word in plugins},
        "git": _git(),
    }


def _digest(plugin: str) -> str | None:
    """SHA-256 of a plugin's file, which no version tells from its predecessor; None of a module."""
    try:
        return hashlib.sha256(Path(plugin).read_bytes()).hexdigest()
    except OSError:
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git() -> dict[str, object] | None:
    """None where the harness was installed rather than cloned."""
    here = Path(__file__).parent
    head = _said("git", "-C", str(here), "rev-parse", "HEAD")
    if head is None:
        return None
    changes = _said("git", "-C", str(here), "status", "--porcelain", "--untracked-files=no")
    return {"head": head, "is_dirty": bool(changes)}


def _said(*argv: str) -> str | None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
