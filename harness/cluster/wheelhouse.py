"""The wheelhouse: this tree and what its broker needs, as wheels, for hosts without a network.

It is made for the Python and the machine of the host, from this tree and from requirements.lock.
Only the broker runs on hosts, so only what it imports is taken along, and pip, which hosts often
lack. Everything is kept in the user's cache, so that a package index is needed but once:

    needs-<digest>/     what the broker imports, for one kind of host
    backend-<digest>/   what builds this tree's own wheel
    <digest>.tar        all of it together, for one kind of host and one state of the tree
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.user_cache import cache_directory, locked
from harness.errors import EnvironmentFailure

BROKER_NEEDS = (
    "click",
    "cramjam",
    "google-crc32c",
    "lz4",
    "prometheus-client",
    "zstandard",
)
PYTHON_MIN = (3, 11)

_TREE = Path(__file__).parent.parent.parent
_PACKAGES = ("broker", "harness", "nemesis", "checkers", "workloads", "reports", "pipeline")
_GLIBC_MINOR_MIN = 17
_KEPT = 5
_DIGEST_CHARACTERS = 16
_PIP_WITHIN_S = 600
_REQUIREMENT = re.compile(
    r"(?P<name>[a-z0-9-]+)==\S+(?: ; [^\\\n]*)?(?: \\\n +--hash=\S+)*", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Target:
    """What wheels have to fit."""

    python: tuple[int, int]
    machine: str
    glibc: tuple[int, int]

    @classmethod
    def of(cls, told: str, who: str) -> Target:
        """From what TELL prints there; refuses, with a sentence, what wheels cannot fit."""
        python, machine, libc, *version = [*told.split(), "", "", "", ""][:4]
        found = _two_numbers(python)
        if found is None or found < PYTHON_MIN:
            raise EnvironmentFailure(
                f"{who} has Python {python or '?'}, and the broker takes 3.11 or newer; "
                'install one there and name it in the inventory: python = "/usr/bin/python3.11"'
            )
        glibc = _two_numbers(*version)
        if libc != "glibc" or glibc is None:
            raise EnvironmentFailure(
                f"{who} has no glibc, and the broker's dependencies come as wheels for glibc only"
            )
        return cls(found, machine, glibc)

    @property
    def pip_options(self) -> list[str]:
        major, minor = self.python
        options = [f"--python-version={major}.{minor}", "--implementation=cp"]
        options += [f"--abi={abi}" for abi in (f"cp{major}{minor}", "abi3", "none")]
        platforms = [
            f"manylinux_2_{minor}_{self.machine}"
            for minor in range(self.glibc[1], _GLIBC_MINOR_MIN - 1, -1)
        ]
        platforms.append(f"manylinux2014_{self.machine}")
        return options + [f"--platform={platform}" for platform in platforms]


TELL = "import sys, platform as p; print(p.python_version(), p.machine(), *p.libc_ver())"
"""What a host's Python is asked to run."""


@dataclass(frozen=True, slots=True)
class Wheelhouse:
    archive: Path
    digest: str
    """Of all that went into it: the same tree for the same target makes it but once."""


def wheelhouse_for(target: Target) -> Wheelhouse:
    """From the cache, or made now, which takes seconds and a package index. Blocks."""
    lock_file = _TREE / "requirements.lock"
    if not (_TREE / "pyproject.toml").exists() or not lock_file.exists():
        raise EnvironmentFailure(
            "hosts are given what this tree holds, and the harness does not run from a tree; "
            "clone the project and run its own harness"
        )
    needs = locked_requirements(lock_file.read_text(), BROKER_NEEDS)
    digest = _digest(needs, target)
    cache = cache_directory("wheelhouse")
    archive = cache / f"{digest}.tar"
    with locked(cache):
        if archive.exists():
            archive.touch()
        else:
            _make(archive, needs, target)
            _forget_old(cache)
    return Wheelhouse(archive, digest)


def locked_requirements(lock: str, names: Sequence[str]) -> str:
    """These and no others, as the lock file pins them, hashes and all."""
    found = {match["name"]: match[0] for match in _REQUIREMENT.finditer(lock)}
    missing = [name for name in names if name not in found]
    if missing:
        raise EnvironmentFailure(f"requirements.lock does not pin {', '.join(missing)}")
    return "".join(f"{found[name]}\n" for name in names)


def _make(archive: Path, needs: str, target: Target) -> None:
    cache = archive.parent
    with tempfile.TemporaryDirectory(dir=cache, prefix="making-") as making:
        own = _built(cache, Path(making), target)
        wheels = [*_needed(cache, needs, target).rglob("*.whl"), own]
        packed = Path(making) / "packed.tar"
        # Wheels are compressed already.
        with tarfile.open(packed, "w") as tar:
            for wheel in sorted(wheels):
                within = "pip/" if wheel.name.startswith("pip-") else ""
                tar.add(wheel, within + wheel.name)
        packed.rename(archive)


def _needed(cache: Path, needs: str, target: Target) -> Path:
    """Of the broker, and pip."""
    pip = f"pip=={importlib.metadata.version('pip')}"

    def fetch(into: Path) -> None:
        requirements = into / "requirements.txt"
        requirements.write_text(needs)
        fitting = ["--no-deps", "--only-binary=:all:", f"--dest={into}", *target.pip_options]
        _pip("download", "--require-hashes", f"-r{requirements}", *fitting)
        _pip("download", pip, *fitting)

    return _once(cache / f"needs-{_short_digest((needs, target, pip))}", fetch)


def _built(cache: Path, into: Path, target: Target) -> Path:
    """This tree's own wheel, with compiled code where it runs on the target."""
    project = tomllib.loads((_TREE / "pyproject.toml").read_text())
    requires = project["build-system"]["requires"]
    backend = _once(
        cache / f"backend-{_short_digest(requires)}",
        lambda into: _pip("download", f"--dest={into}", *requires),
    )
    offline = ["--no-index", f"--find-links={backend}"]
    pure = {} if target.machine == platform.machine() else {"LOG_TRIAL_PURE": "1"}
    _pip("wheel", "--no-deps", *offline, f"--wheel-dir={into}", str(_TREE), settings=pure)
    (wheel,) = into.glob("*.whl")
    return wheel


def _once(directory: Path, fetch: Callable[[Path], None]) -> Path:
    """Whole or not at all."""
    if not directory.exists():
        fetching = directory.with_name(f"making-{directory.name}")
        shutil.rmtree(fetching, ignore_errors=True)
        fetching.mkdir()
        fetch(fetching)
        fetching.rename(directory)
    return directory


def _pip(*arguments: str, settings: Mapping[str, str] | None = None) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=_PIP_WITHIN_S,
        check=False,
        env={**os.environ, **(settings or {})},
    )
    if done.returncode != 0:
        last_words = done.stderr.strip()[-1500:]
        raise EnvironmentFailure(
            "the wheels for the hosts could not be gathered; is a package index reachable from "
            f"here? pip {arguments[0]} said:\n{last_words}"
        )


def _digest(needs: str, target: Target) -> str:
    digest = hashlib.sha256(repr((needs, target)).encode())
    for path in _sources():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(_TREE)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGEST_CHARACTERS]


def _short_digest(of: object) -> str:
    return hashlib.sha256(repr(of).encode()).hexdigest()[:_DIGEST_CHARACTERS]


def _sources() -> Iterator[Path]:
    """Everything of which the project's own wheel is made."""
    yield _TREE / "pyproject.toml"
    yield _TREE / "README.md"
    yield _TREE / "hatch_build.py"
    for package in _PACKAGES:
        for path in sorted((_TREE / package).rglob("*")):
            if path.is_file() and not _is_made(path):
                yield path


def _is_made(path: Path) -> bool:
    """Whether the file is made from others, maybe this very moment."""
    return "__pycache__" in path.parts or path.suffix in (".so", ".part")


def _forget_old(cache: Path) -> None:
    """The tree changes often, and each of these is some ten megabytes."""
    archives = sorted(cache.glob("*.tar"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in archives[_KEPT:]:
        old.unlink(missing_ok=True)
    for left in cache.glob("making-*"):
        shutil.rmtree(left, ignore_errors=True)


def _two_numbers(version: str = "") -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None
