"""PySpark for `harness lake`, which a clone installs when it is first used."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from harness.errors import EnvironmentFailure

ROOT = Path(__file__).resolve().parents[2]


def provide_spark(*, may_install: bool, root: Path = ROOT) -> None:
    """Install PySpark if it is missing. EnvironmentFailure if that is impossible or refused."""
    from pipeline.session import require_spark

    setup = root / ".ci" / "setup-spark"
    is_ours = Path(sys.prefix).resolve() == (root / ".venv").resolve()
    if find_spec("pyspark") is not None or not (may_install and is_ours and setup.is_file()):
        require_spark()
        return
    click.echo(
        "PySpark is not installed yet; installing it now as make setup-spark does "
        "(--no-install refuses) ...",
        err=True,
    )
    # Standard output is for the output of the command, which may be JSON.
    done = subprocess.run(["bash", str(setup)], stdout=sys.stderr, check=False)
    if done.returncode:
        raise EnvironmentFailure(
            "PySpark could not be installed; see above, and try: make setup-spark"
        )
    importlib.invalidate_caches()
    require_spark()
