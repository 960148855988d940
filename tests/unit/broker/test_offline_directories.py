"""A directory that failed is told, and is back only when what came back in it is judged."""

from __future__ import annotations

from typing import cast

from broker.log.log_directory import LogDirectory
from broker.offline_directories import OfflineDirectories

A, B = b"a" * 16, b"b" * 16


class FakeDirectory:
    is_offline = False


def made(directories: dict[str, FakeDirectory]) -> OfflineDirectories:
    return OfflineDirectories(cast("dict[str, LogDirectory]", directories), {"b": B, "a": A})


def test_all_that_failed_are_named_in_order() -> None:
    directories = {"a": FakeDirectory(), "b": FakeDirectory(), "never read": FakeDirectory()}
    offline = made(directories)
    assert (offline.ids(), offline.has_news()) == ([], False)
    for each in directories.values():
        each.is_offline = True
    assert offline.has_news()
    assert (offline.ids(), offline.has_news()) == ([A, B], False)


def test_one_that_was_told_is_offline_until_it_is_judged() -> None:
    directories = {"a": FakeDirectory(), "b": FakeDirectory()}
    offline = made(directories)
    directories["a"].is_offline = directories["b"].is_offline = True
    assert offline.ids() == [A, B]
    directories["a"].is_offline = False
    assert offline.ids() == [A, B]
    assert offline.judged()
    assert offline.ids() == [B]
    assert not offline.judged()


def test_what_came_and_went_unseen_is_not_told() -> None:
    directories = {"a": FakeDirectory(), "b": FakeDirectory()}
    offline = made(directories)
    directories["a"].is_offline = True
    directories["a"].is_offline = False
    assert (offline.has_news(), offline.ids(), offline.judged()) == (False, [], False)
