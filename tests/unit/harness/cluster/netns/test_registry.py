"""What runs have made: whose it is, and who may remove it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cluster.netns import registry
from harness.cluster.netns.cgroups import Cgroup
from harness.cluster.netns.registry import claim, heal


@pytest.fixture(autouse=True)
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One of this test's own, on a machine without cgroups."""
    book = tmp_path / "book"
    monkeypatch.setattr(registry, "_registry", lambda: book)
    monkeypatch.setattr(registry, "groups_at_the_top", lambda _: [])
    monkeypatch.setattr(Cgroup, "remove", lambda _: None)
    return book


def renamed(entry: Path, **changes: str) -> Path:
    pid, start, namespace, boot, number = entry.name.split(".")
    parts = {"pid": pid, "start": start, "namespace": namespace, "boot": boot, **changes}
    return entry.rename(entry.with_name(".".join([*parts.values(), number])))


def test_a_run_that_lives_is_let_be(book: Path) -> None:
    claimed = claim()
    assert claim().directory != claimed.directory
    found = heal()
    assert (found.removed, found.left) == ([], [])
    assert claimed.directory.is_dir()


def test_what_a_dead_run_has_made_is_removed(book: Path, tmp_path: Path) -> None:
    claimed = claim()
    image = tmp_path / "n1.img"
    image.touch()
    claimed.will_make(image)
    # The same number, but a process that was started at another time.
    renamed(claimed.directory, start="7")
    found = heal()
    assert len(found.removed) == 1
    assert found.removed[0].endswith("which is gone")
    assert not book.exists()
    assert not image.exists()


def test_a_run_of_another_pid_namespace_is_left_unless_forced(book: Path) -> None:
    """Its number may well be nobody's here, or somebody else's."""
    theirs = renamed(claim().directory, pid="17", namespace="4026500000")
    found = heal()
    assert found.removed == []
    assert found.left == ["hosts of process 17 in pid namespace 4026500000"]
    assert theirs.is_dir()
    assert heal(force=True).removed == ["hosts of process 17, of pid namespace 4026500000"]
    assert not book.exists()


def test_nothing_outlives_a_start_of_the_machine(book: Path) -> None:
    renamed(claim().directory, boot="00000000")
    renamed(claim().directory, boot="00000000", namespace="4026500000")
    assert len(heal().removed) == 2
    assert not book.exists()
