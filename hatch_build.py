"""Compiles the broker's hottest loops while the project is installed or packed.

Without a C compiler or Python's headers the project installs all the same, with a warning: its
broker then checks records in Python, which takes about 25 times as long.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = "broker/protocol/_native.c"
LIBRARY = "broker/protocol/_native.abi3.so"
PURE = "LOG_TRIAL_PURE"
"""Set to anything: a wheel for other machines than this one, without compiled code."""

COMPILE_WITHIN_S = 60


class CompileNative(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or os.environ.get(PURE):
            return
        problem = compile_library(Path(self.root))
        if problem is not None:
            (Path(self.root) / LIBRARY).unlink(missing_ok=True)
            # One that is there was compiled from another source.
            self.app.display_warning(
                f"the broker will check records in Python, which is slow: {problem}; "
                "try: apt-get install gcc libc6-dev python3-dev, and install again"
            )
        elif version != "editable":
            build_data["artifacts"].append(LIBRARY)
            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-linux_{platform.machine()}"


def compile_library(root: Path) -> str | None:
    """Returns what went wrong, or None. A library that a running broker uses is not written to."""
    library = root / LIBRARY
    beside = library.with_name(f"{library.name}.{os.getpid()}.part")
    compiler = os.environ.get("CC", "cc")
    include = sysconfig.get_paths()["include"]
    argv = [compiler, "-O2", "-Wall", "-shared", "-fPIC", f"-I{include}", str(root / SOURCE)]
    try:
        done = subprocess.run(
            [*argv, "-o", str(beside)], capture_output=True, text=True, timeout=COMPILE_WITHIN_S
        )
        if done.returncode != 0:
            return done.stderr.strip().partition("\n")[0] or f"{compiler}: {done.returncode}"
        beside.replace(library)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        beside.unlink(missing_ok=True)
    return None
