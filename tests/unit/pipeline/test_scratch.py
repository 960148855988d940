"""Temporary files of a session go with it, or with the next one if it was killed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pipeline.scratch import remove_abandoned, scratch_directory
from pipeline.writers import this_process


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def ended_process() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def left_by(directory: Path, name: str, owner: object) -> Path:
    left = directory / f"log-trial-spark-{name}"
    left.mkdir()
    (left / "owner.json").write_text(owner if isinstance(owner, str) else json.dumps(owner))
    return left


def test_the_files_of_a_session_go_with_it(temporary: Path) -> None:
    with scratch_directory() as scratch:
        (scratch / "blocks").write_text("")
        assert scratch.parent == temporary
        remove_abandoned(temporary)
        assert scratch.is_dir()
    assert not scratch.exists()


def test_the_files_of_a_killed_session_go_with_the_next_one(temporary: Path) -> None:
    killed = left_by(temporary, "killed", {**this_process(), "pid": ended_process()})
    with scratch_directory():
        assert not killed.exists()


@pytest.mark.parametrize("owner", ["", "no JSON", "[]"])
def test_a_directory_that_names_no_process_stays(temporary: Path, owner: str) -> None:
    left = left_by(temporary, "unknown", owner)
    remove_abandoned(temporary)
    assert left.is_dir()
