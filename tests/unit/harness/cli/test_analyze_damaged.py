"""harness analyze on a run whose history is damaged: unknown, and the file is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import main
from harness.history.history import PARQUET
from tests.pipeline.made_store import stored_run


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut, as_pipe, as_directory])
def test_a_damaged_history_is_named(
    damage: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stored_run(tmp_path / "store")
    damage(run / PARQUET / "elements.parquet")
    with pytest.raises(SystemExit) as end:
        main(["analyze", str(run)])
    told = capsys.readouterr()
    assert end.value.code == 2
    assert told.out.startswith("unknown: ")
    assert "elements.parquet" in told.out.splitlines()[0]
    assert "Traceback" not in told.err
