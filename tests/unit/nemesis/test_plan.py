"""Moments are drawn from the seed alone, with quiet between them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from harness.decisions import Decisions
from nemesis import NEMESES, parse
from nemesis.base import Moment
from nemesis.plan import draw, needed_ms

SEEDS = range(30)


def drawn(text: str, seed: int, length_s: float, interval_s: float = 10.0) -> tuple[Moment, ...]:
    return draw(
        Decisions(seed), parse(text), length_ms=length_s * 1000, interval_ms=interval_s * 1000
    )


def test_the_seed_decides_and_nothing_else() -> None:
    for text in ("kill", "kill,pause,partition"):
        assert drawn(text, 7, 60) == drawn(text, 7, 60) != drawn(text, 8, 60)
    assert drawn("none", 7, 60) == ()


@pytest.mark.parametrize("text", ["kill", "kill,pause,partition", "all"])
@pytest.mark.parametrize("length_s", [2, 12, 30, 300])
def test_every_fault_ends_before_the_run_does_and_there_is_one_at_least(
    text: str, length_s: float
) -> None:
    for seed in SEEDS:
        moments = drawn(text, seed, length_s)
        assert moments
        assert list(moments) == sorted(moments, key=lambda each: each.at_ms)
        assert len({each.name for each in moments}) == len(moments)
        for each in moments:
            assert 0 < each.at_ms < each.at_ms + each.for_ms <= length_s * 1000 + 0.2
            assert each.name.startswith(each.nemesis)


def test_one_nemesis_alternates_with_quiet() -> None:
    for seed in SEEDS:
        moments = drawn("kill", seed, 120)
        assert 5 <= len(moments) <= 14
        for one, following in pairwise(moments):
            assert following.at_ms - (one.at_ms + one.for_ms) >= 2_999


def test_a_mix_is_healed_in_between_and_quiet_a_quarter_of_the_time() -> None:
    intervals, quiet, alone, crowded = 0, 0, 0, 0
    for seed in SEEDS:
        moments = drawn("kill,pause,partition,clock", seed, 200)
        for number in range(20):
            struck = [each for each in moments if number * 1e4 <= each.at_ms < (number + 1) * 1e4]
            assert len({each.nemesis for each in struck}) == len(struck)
            for each in struck:
                assert each.at_ms + each.for_ms == pytest.approx(number * 1e4 + 7500, abs=0.2)
            intervals += 1
            quiet += not struck
            alone += len(struck) == 1
            crowded += len(struck) > 2
    assert 0.18 < quiet / intervals < 0.32
    assert alone > 30
    assert crowded > 30


@pytest.mark.parametrize(
    ("text", "length_s"),
    [
        ("kill,pause", 3),
        ("kill,partition,pause", 15),
        ("kill,partition,pause,power", 10),
        ("kill,partition,pause,power", 30),
        (",".join(NEMESES), 40),
        ("kill@n1,kill@n2,kill@n3,pause@n1,pause@n2,pause@n3,move", 23.1),
    ],
)
def test_a_nemesis_that_was_asked_for_has_a_moment(text: str, length_s: float) -> None:
    wanted = text.split(",")
    assert needed_ms(len(wanted), 10_000) <= length_s * 1000
    for seed in SEEDS:
        moments = drawn(text, seed, length_s)
        assert {moment.nemesis for moment in moments} == set(wanted)
        for moment in moments:
            assert moment.for_ms >= min(length_s * 1000, 5_000) * 0.45


def test_a_run_is_long_enough_from_so_many_seconds_on() -> None:
    assert [needed_ms(count, 10_000) for count in (1, 2, 3, 4, 5, 14)] == [
        *(0, 0),
        *(10_000, 10_000),
        15_000,
        35_000,
    ]
    # Whoever wants shorter intervals has them.
    assert needed_ms(14, 2_000) == 14_000


def test_of_all_nemeses_a_short_run_draws_some() -> None:
    for seed in SEEDS:
        moments = draw(
            Decisions(seed), parse("all"), length_ms=15_000, interval_ms=10_000, is_any=True
        )
        # Faults of one interval, as long as they are in a long run.
        assert {round(each.at_ms + each.for_ms) for each in moments} == {7_500}
        assert 1 <= len(moments) < len(NEMESES)
