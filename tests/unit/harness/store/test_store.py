"""The store: runs are found by path, by name and by number, and the tree can be moved."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.errors import EnvironmentFailure, UsageFailure
from harness.store.store import RUNNING, Store, is_under_way

NOON = datetime(2026, 11, 16, 12, 0, 0, 123_456, tzinfo=UTC)


def make(store: Store, name: str, at: datetime) -> Path:
    directory = store.new_run(name, at)
    (directory / "plan.json").write_text("{}")
    store.end_run(directory)
    return directory


def test_latest_names_the_run_that_was_killed_when_no_other_has_ended(tmp_path: Path) -> None:
    store = Store(tmp_path)
    directory = store.new_run("queue kill", NOON)
    (directory / "plan.json").write_text("{}")
    with pytest.raises(UsageFailure, match="current is the one that was begun last"):
        store.find("latest")
    assert store.find("current") == directory


def test_a_run_is_named_after_its_kind_and_its_moment(tmp_path: Path) -> None:
    directory = Store(tmp_path).new_run("queue partition", NOON)
    assert directory == tmp_path / "queue partition" / "20261116T120000.123Z"
    assert (tmp_path / "current").resolve() == directory


def test_a_run_is_under_way_as_long_as_its_process_lives(tmp_path: Path) -> None:
    store = Store(tmp_path)
    directory = store.new_run("queue kill", NOON)
    assert is_under_way(directory)
    store.end_run(directory)
    assert not is_under_way(directory)
    assert list(directory.iterdir()) == []
    begin_and_die = (
        "import os, sys; from datetime import datetime, UTC; from pathlib import Path; "
        "from harness.store.store import Store; "
        "print(Store(Path(sys.argv[1])).new_run('queue kill', datetime.now(UTC)), flush=True); "
        "os._exit(9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", begin_and_die, str(tmp_path)], capture_output=True, text=True
    )
    killed = Path(done.stdout.strip())
    assert (killed / RUNNING).exists()
    assert not is_under_way(killed)


@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_what_is_no_lock_is_no_run_under_way(tmp_path: Path, kind: str) -> None:
    match kind:
        case "link":
            (tmp_path / RUNNING).symlink_to(tmp_path / "elsewhere")
        case "pipe":
            os.mkfifo(tmp_path / RUNNING)
        case _:
            (tmp_path / RUNNING).mkdir()
    assert not is_under_way(tmp_path)


def test_two_runs_of_one_moment_do_not_meet(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first, second = make(store, "queue none", NOON), make(store, "queue none", NOON)
    assert first != second
    assert list(store.runs()) == [first, second]


def test_runs_are_found_by_word_by_number_and_by_path(tmp_path: Path) -> None:
    store = Store(tmp_path)
    old = make(store, "queue kill", NOON)
    new = make(store, "append none", NOON + timedelta(seconds=1))
    assert store.find("latest") == new
    assert store.find("queue kill/latest") == old
    assert store.find("-1") == new
    assert store.find("-2") == old
    assert store.find(str(old)) == old
    assert not (tmp_path / "current").exists()


@pytest.mark.parametrize("said", ["-3", "nowhere", "current", "-0"])
def test_what_is_no_run_is_told(tmp_path: Path, said: str) -> None:
    store = Store(tmp_path)
    make(store, "queue kill", NOON)
    make(store, "queue kill", NOON)
    with pytest.raises(UsageFailure, match="no run"):
        store.find(said)


def test_links_still_lead_there_when_the_tree_was_moved(tmp_path: Path) -> None:
    make(Store(tmp_path / "here"), "queue kill", NOON)
    shutil.move(tmp_path / "here", tmp_path / "there")
    found = Store(tmp_path / "there").find("latest")
    assert found == tmp_path / "there" / "queue kill" / "20261116T120000.123Z"


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFailure, match="--store names another"):
        Store(tmp_path / "file").new_run("queue none", NOON)
