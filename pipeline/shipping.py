"""Ships this project's code to the workers of a cluster, which need not have it installed.

The code is an archive that Spark unpacks in the directory of each executor, and not a zip file on
the path: packages read data beside their modules, and numba keeps compiled code only beside modules
that are files. The archive contains what numba has compiled here, which saves each executor a
minute. Numba uses it if the source has the same time and the processor is of the same kind, and
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
"""Directory of the code, below the working directory of an executor and its Python."""
_ROOT: Final = Path(__file__).resolve().parent.parent
_NOT_SHIPPED: Final = (".pyc", ".so")
"""Files for this machine's Python; workers compile their own, or use the Python version."""


def python_path(is_local: bool) -> str:
    """Value of PYTHONPATH for workers. Those of a local master use the files of this process."""
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
                # Numba writes to temporary files first.
                if path.is_file() and path.suffix not in _NOT_SHIPPED and ".tmp." not in path.name:
                    out.add(path, path.relative_to(_ROOT))


def _refuse_lacking(session: SparkSession) -> None:
    parts = session.sparkContext.parallelize([0], 1).mapPartitions(_missing)
    try:
        missing = parts.collect()
    except Exception as error:
        raise EnvironmentFailure(
            f"no worker of {session.sparkContext.master} could run Python ({_reason(error)}); "
            "PYSPARK_PYTHON names the Python of the workers, which needs the same version as here"
        ) from None
    if missing:
        raise EnvironmentFailure(
            f"the workers of {session.sparkContext.master} lack {missing[0]} in their Python; "
            "install it there, or name another Python in PYSPARK_PYTHON"
        )


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    named = [line for line in lines if "Error:" in line or "Exception:" in line]
    return (named or lines or [type(error).__name__])[-1]


def _missing(_: Iterable[int]) -> Iterator[str]:
    """The first module that a worker cannot import. Pickled by value, it needs none of them."""
    from importlib import import_module

    for module in ("checkers.checker", "checkers.log.facts", "pipeline.check.job"):
        try:
            import_module(module)
        except ImportError as error:
            yield error.name or str(error)
            return
