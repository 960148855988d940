"""Compiles the shim and its probe, once for each version of their source, into the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from harness.cluster.user_cache import cache_directory, locked
from harness.errors import EnvironmentFailure

_COMPILERS = ("cc", "gcc", "clang")
_WITHIN_S = 60
_SOURCES = ("shim.c", "probe.c")
_SEPARATORS = " :;"
"""Of the list of libraries to preload."""


@dataclass(frozen=True, slots=True)
class Shim:
    library: Path
    probe: Path


def shim() -> Shim:
    """Raises EnvironmentFailure where there is none to be had. Blocks, the first time."""
    found = _built()
    if isinstance(found, str):
        raise EnvironmentFailure(found)
    return found


def why_no_shim() -> str | None:
    found = _built()
    return found if isinstance(found, str) else None


@cache
def _built() -> Shim | str:
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        return (
            "clocks are shifted by a small library that has to be compiled, and there is no C "
            "compiler; try: apt-get install gcc libc6-dev"
        )
    sources = {name: files(__package__).joinpath(name).read_bytes() for name in _SOURCES}
    digest = hashlib.sha256(b"".join(sources.values())).hexdigest()[:16]
    try:
        directory = cache_directory("clock-shim")
    except OSError as error:
        return f"the library that shifts clocks cannot be kept: {error}"
    found = Shim(directory / f"shim-{digest}.so", directory / f"probe-{digest}")
    if any(each in str(found.library) for each in _SEPARATORS):
        return f"a library at {found.library} cannot be preloaded; set XDG_CACHE_HOME to plainer"
    with locked(directory):
        for source, target, how in (
            ("shim.c", found.library, ("-shared", "-fPIC", "-ldl")),
            ("probe.c", found.probe, ()),
        ):
            if target.exists():
                continue
            if complaint := _compile(compiler, sources[source], target, how):
                return f"the library that shifts clocks does not compile: {complaint}"
    return found


def _compile(compiler: str, source: bytes, target: Path, how: tuple[str, ...]) -> str | None:
    """Returns what the compiler had to say, if it failed."""
    beside = target.with_name(f"{target.name}.{os.getpid()}.part")
    argv = [compiler, "-O2", "-x", "c", "-", "-o", str(beside), *how]
    try:
        done = subprocess.run(argv, input=source, capture_output=True, timeout=_WITHIN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return f"{lines[0] if lines else done.returncode}; try: apt-get install gcc libc6-dev"
    beside.replace(target)
    return None
