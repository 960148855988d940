"""The store: runs are found by path, by name and by number, and the tree can be moved."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.errors import EnvironmentFailure
from harness.store.store import Store

NOON = datetime(2026, 11, 16, 12, 0, 0, 123_456, tzinfo=UTC)


def make(store: Store, name: str, at: datetime) -> Path:
    directory = store.new_run(name, at)
    (directory / "plan.json").write_text("{}")
    store.end_run(directory)
    return directory


def test_a_run_is_named_after_its_kind_and_its_moment(tmp_path: Path) -> None:
    directory = Store(tmp_path).new_run("queue partition", NOON)
    assert directory == tmp_path / "queue partition" / "20261116T120000.123Z"
    assert (tmp_path / "current").resolve() == directory


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
    with pytest.raises(EnvironmentFailure, match="no run"):
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
