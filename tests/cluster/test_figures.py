"""How the failover bench reads its rounds."""

from __future__ import annotations

import pytest

from bench.failover import Series, report


def rounds(*seconds: float) -> Series:
    return Series("leader killed", list(seconds))


def test_of_twenty_rounds_two_may_lie_above_the_p90() -> None:
    series = rounds(*range(20, 0, -1))
    assert series.share(0.5) == 10
    assert series.share(0.9) == 18
    assert series.share(1) == 20


def test_one_round_is_its_own_p50_and_p90() -> None:
    assert rounds(7).share(0.5) == rounds(7).share(0.9) == 7


def test_a_missed_bar_is_shown_and_ends_in_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([rounds(1, 2), rounds(1, 3)], 3) == 1
    printed = capsys.readouterr().out
    assert "p90 < 3 s: met" in printed
    assert "p90 < 3 s: MISSED" in printed


def test_without_a_bar_nothing_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([rounds(9)], None) == 0
    assert "p90 <" not in capsys.readouterr().out
