"""A file that must not be there yet: whole, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pipeline.new_file import create_file


def test_a_file_that_appears_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log" / "000.json"
    synced = os.fsync

    def other_is_faster(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", synced)
        create_file(path, "the other's")

    monkeypatch.setattr(os, "fsync", other_is_faster)
    with pytest.raises(FileExistsError):
        create_file(path, "mine")
    assert [(each.name, each.read_text()) for each in path.parent.iterdir()] == [
        ("000.json", "the other's")
    ]


def test_a_file_system_without_hard_links_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    create_file(tmp_path / "one", "first")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "one", "second")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("one", "first")]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        create_file(tmp_path / "one", "text")
    assert list(tmp_path.iterdir()) == []
