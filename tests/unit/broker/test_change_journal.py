"""Whoever followed the changes is told what came since; whoever fell back too far, nothing."""

from __future__ import annotations

import pytest

from broker import change_journal
from broker.change_journal import ChangeJournal
from tests.unit.broker.led_partition import leading
from tests.virtual_time import in_virtual_time


@in_virtual_time
async def test_it_tells_what_changed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_journal, "_LENGTH", 3)
    journal = ChangeJournal()
    first, second = await leading(directory="t-0"), await leading(directory="t-1")
    assert journal.since(0) == []
    assert journal.since(-1) is None  # one who has not looked at all yet
    journal.note(first)
    journal.note(second)
    assert journal.since(0) == [first, second]
    assert journal.since(1) == [second]
    assert journal.since(2) == []
    journal.note(first)
    journal.note(first)
    assert journal.since(1) == [second, first, first]
    assert journal.since(0) is None
