"""harness ls --prune: which runs go, and what the links say afterwards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.stored import ls
from harness.store.pruning import age_of, prunable, remove
from harness.store.store import Store

BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
NOW = BEGAN + timedelta(days=4, hours=1)


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Five runs, one a day, of two kinds."""
    store, found = Store(tmp_path), []
    for day in range(5):
        run = store.new_run(("queue kill", "group none")[day % 2], BEGAN + timedelta(days=day))
        (run / "results.json").write_text("x" * 10_000)
        store.end_run(run)
        found.append(run)
    return found


@pytest.fixture
def said(tmp_path: Path) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(
        ls, ["--store", str(tmp_path), *words], standalone_mode=False
    )


def old(tmp_path: Path, keep: int | None, days: int | None) -> list[Path]:
    age = None if days is None else timedelta(days=days)
    return prunable(Store(tmp_path), keep=keep, older_than=age, now=NOW)


def test_the_newest_and_the_young_stay(tmp_path: Path, runs: list[Path]) -> None:
    assert old(tmp_path, 2, None) == runs[:3]
    assert old(tmp_path, None, 3) == runs[:2]
    assert old(tmp_path, 4, 3) == runs[:1]
    assert old(tmp_path, 1, 3) == runs[:2]
    assert old(tmp_path, 9, None) == []
    assert old(tmp_path, 0, None) == runs


def test_a_run_under_way_stays(tmp_path: Path, runs: list[Path]) -> None:
    store = Store(tmp_path)
    under_way = store.new_run("queue kill", BEGAN - timedelta(days=9))
    assert prunable(store, keep=0, older_than=None, now=NOW) == runs
    assert list(remove(store, [under_way])) == []
    assert under_way.is_dir()
    store.end_run(under_way)
    assert prunable(store, keep=0, older_than=None, now=NOW) == [under_way, *runs]


def test_links_name_the_latest_that_is_left(tmp_path: Path, runs: list[Path]) -> None:
    store = Store(tmp_path)
    assert list(remove(store, [runs[4], runs[1], runs[3]])) == [runs[4], runs[1], runs[3]]
    assert list(store.runs()) == [runs[0], runs[2]]
    assert (tmp_path / "latest").resolve() == runs[2].resolve()
    assert (tmp_path / "queue kill" / "latest").resolve() == runs[2].resolve()
    assert not (tmp_path / "group none").exists()
    list(remove(store, [runs[0], runs[2]]))
    assert [*tmp_path.iterdir()] == []


def test_what_a_killed_removal_left_is_removed(tmp_path: Path, runs: list[Path]) -> None:
    rest = runs[0].with_name(f".removed-{runs[0].name}")
    runs[0].rename(rest)
    list(remove(Store(tmp_path), [runs[2]]))
    assert not rest.exists()


def test_what_a_killed_removal_left_of_another_kind_is_removed(
    tmp_path: Path, runs: list[Path]
) -> None:
    for each in (runs[1], runs[3]):
        each.rename(each.with_name(f".removed-{each.name}"))
    list(remove(Store(tmp_path), [runs[2]]))
    assert not runs[1].parent.exists()


def test_without_a_terminal_nothing_is_removed_unless_yes_says_so(
    said: Callable[..., Result], runs: list[Path]
) -> None:
    shown = said("--prune", "--keep", "3")
    assert "nothing was removed" in shown.output
    assert all(run.is_dir() for run in runs)
    assert "removed 2 runs" in said("--prune", "--keep", "3", "--yes").output
    assert [run.is_dir() for run in runs] == [False, False, True, True, True]
    assert "nothing to remove" in said("--prune", "--keep", "3", "--yes").output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--prune"], "--prune needs --keep N or --older-than AGE"),
        (["--keep", "3"], "belong to --prune"),
        (["--prune", "--older-than", "soon"], "is no age"),
    ],
)
def test_half_of_a_request_is_refused(
    said: Callable[..., Result], words: list[str], sentence: str
) -> None:
    assert sentence in str(said(*words).exception)


def test_ages() -> None:
    assert age_of("12h") == timedelta(hours=12)
    assert age_of("30d") == timedelta(days=30)
    assert age_of("2w") == timedelta(weeks=2)
    assert [age_of(text) for text in ("", "d", "3", "-1d", "1m", "9" * 30 + "w")] == [None] * 6
