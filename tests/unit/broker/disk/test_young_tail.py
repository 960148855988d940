"""Which bytes count as just written."""

from __future__ import annotations

from broker.disk.young_tail import GENERATION_S, YoungTail


def test_nothing_is_young_before_the_first_append() -> None:
    assert not YoungTail().covers(0, 1000.0)


def test_what_was_appended_moments_ago_is_young() -> None:
    tail = YoungTail()
    tail.appended(100, 1000.0)
    tail.appended(200, 1001.0)
    assert tail.covers(100, 1002.0)
    assert tail.covers(250, 1002.0)
    assert not tail.covers(99, 1002.0)


def test_the_last_generation_is_young_while_the_present_one_is_written() -> None:
    tail = YoungTail()
    tail.appended(100, 1000.0)
    tail.appended(200, 1000.0 + GENERATION_S)
    assert tail.covers(100, 1001.0 + GENERATION_S)
    tail.appended(300, 1000.0 + 2 * GENERATION_S)
    assert not tail.covers(100, 1001.0 + 2 * GENERATION_S)
    assert tail.covers(200, 1001.0 + 2 * GENERATION_S)


def test_a_pause_makes_everything_old() -> None:
    tail = YoungTail()
    tail.appended(100, 1000.0)
    assert not tail.covers(100, 1000.0 + 2 * GENERATION_S)
    tail.appended(200, 2000.0)
    assert not tail.covers(100, 2000.0)
    assert tail.covers(200, 2000.0)


def test_after_a_truncation_the_new_end_is_young() -> None:
    tail = YoungTail()
    tail.appended(100, 1000.0)
    tail.truncated(50)
    assert tail.covers(50, 1000.0)
    assert not tail.covers(49, 1000.0)
