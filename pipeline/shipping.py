"""Our own code for the workers of a cluster, which are not expected to have it.

The code goes as an archive that Spark unpacks in the directory of each executor, not as a file that
Python imports from: packages read data beside their modules, and numba keeps compiled code only
beside modules that are files. What numba has compiled here goes along, which saves each executor a
minute: numba uses it if the source has the same time and the processor is of the same kind, and
compiles anew otherwise. A tar archive keeps times; Spark does not keep those of a zip.

The workers' Python needs the packages that the checkers import (numpy, numba, pyarrow, msgspec); a
session is refused with the name of one that is missing.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import EnvironmentFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES: Final = (
    *("broker", "harness", "nemesis", "checkers", "workloads", "reports", "pipeline"),
)
DIRECTORY: Final = "log-trial"
"""Below the directory in which an executor and its Python processes run."""
_ROOT: Final = Path(__file__).resolve().parent.parent
_NOT_SHIPPED: Final = (".pyc", ".so")
"""Of this machine's Python; workers make their own, or do without."""


def python_path(is_local: bool) -> str:
    """Where workers find our modules. Those of a local master are children of this process, and
    use its files rather than those that are installed."""
    return str(_ROOT) if is_local else DIRECTORY


def ship(session: SparkSession, is_local: bool, scratch: Path) -> None:
    """EnvironmentFailure if the Python of the workers cannot import what was shipped."""
    if is_local:
        return
    archive = scratch / f"{DIRECTORY}.tar.gz"
    pack(archive)
    session.sparkContext.addArchive(f"{archive}#{DIRECTORY}")
    _refuse_lacking(session)


def pack(archive: Path) -> None:
    with tarfile.open(archive, "w:gz", compresslevel=1) as out:
        for package in PACKAGES:
            for path in sorted((_ROOT / package).rglob("*")):
                # Numba writes files under other names first.
                if path.is_file() and path.suffix not in _NOT_SHIPPED and ".tmp." not in path.name:
                    out.add(path, path.relative_to(_ROOT))


def _refuse_lacking(session: SparkSession) -> None:
    parts = session.sparkContext.parallelize([0], 1).mapPartitions(_missing)
    try:
        missing = parts.collect()
    except Exception as error:
        raise EnvironmentFailure(
            f"no worker of {session.sparkContext.master} could run Python ({_told(error)}); "
            "PYSPARK_PYTHON names the Python of the workers, which needs the same version as here"
        ) from None
    if missing:
        raise EnvironmentFailure(
            f"the workers of {session.sparkContext.master} lack {missing[0]} in their Python; "
            "install it there, or name another Python in PYSPARK_PYTHON"
        )


def _told(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    named = [line for line in lines if "Error:" in line or "Exception:" in line]
    return (named or lines or [type(error).__name__])[-1]


def _missing(_: Iterable[int]) -> Iterator[str]:
    """Runs on a worker, as a function that is shipped itself: nothing of ours is there for sure."""
    from importlib import import_module

    for module in ("checkers.checker", "checkers.log.facts", "pipeline.check.job"):
        try:
            import_module(module)
        except ImportError as error:
            yield error.name or str(error)
            return
