"""The directory for the temporary files of one Spark session, and those of killed sessions."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pipeline.writers import may_live, this_process

_PREFIX: Final = "log-trial-spark-"
_OWNER: Final = "owner.json"


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Removed at the end. A process that is killed leaves its directory to the next session."""
    remove_abandoned(Path(tempfile.gettempdir()))
    scratch = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        (scratch / _OWNER).write_text(json.dumps(this_process()))
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def remove_abandoned(directory: Path) -> None:
    """Directories of sessions whose process has ended. One that names no process may be just being
    made, so it stays."""
    for each in directory.glob(f"{_PREFIX}*"):
        owner = each / _OWNER
        try:
            process = json.loads(owner.read_text()) if owner.is_file() else None
        except (OSError, ValueError):
            continue
        if isinstance(process, dict) and not may_live(process):
            shutil.rmtree(each, ignore_errors=True)
