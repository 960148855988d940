"""Every decision is a pure function of seed, purpose, name and ordinal."""

from random import Random

from harness.decisions import Decisions, Override


def test_a_decision_does_not_depend_on_the_others() -> None:
    alone = Decisions(7)
    busy = Decisions(7)
    for name in ("a", "b", "c"):
        for _ in range(100):
            busy.of("delay", name).next()
    assert [alone.of("delay", "d").next() for _ in range(5)] == [
        busy.of("delay", "d").next() for _ in range(5)
    ]


def test_any_ordinal_can_be_asked_for() -> None:
    stream = Decisions(7).of("delay", "n1>n2:9092#1")
    drawn = [stream.next() for _ in range(10)]
    assert drawn == [stream.at(ordinal) for ordinal in range(10)]
    assert stream.ordinal == 10


def test_seed_purpose_and_name_all_count() -> None:
    draws = {
        Decisions(1).of("a", "b").at(0),
        Decisions(2).of("a", "b").at(0),
        Decisions(1).of("ab", "").at(0),
        Decisions(1).of("a", "c").at(0),
        Decisions(1).of("a", "b").at(1),
    }
    assert len(draws) == 5


def test_an_override_changes_one_decision_only() -> None:
    plain = Decisions(7).of("delay", "c")
    bent = Decisions(7, [Override("delay", "c", 3, 0.999)]).of("delay", "c")
    expected = [plain.next() for _ in range(6)]
    expected[3] = 0.999
    assert [bent.next() for _ in range(6)] == expected


def test_draws_are_spread_evenly_over_zero_to_one() -> None:
    stream = Decisions(3).of("spread", "")
    draws = [stream.next() for _ in range(20_000)]
    assert all(0.0 <= draw < 1.0 for draw in draws)
    for tenth in range(10):
        count = sum(1 for draw in draws if tenth / 10 <= draw < (tenth + 1) / 10)
        assert 1800 < count < 2200


def test_the_library_of_random_numbers_follows_the_stream() -> None:
    one, same = (Decisions(7).random("random", "n1/1") for _ in range(2))
    other = Decisions(7).random("random", "n1/2")

    def use(random: Random) -> list[object]:
        return [
            random.random(),
            random.randint(1, 10**30),
            random.choice("abcdefgh"),
            random.randbytes(20),
            random.sample(range(1000), 10),
            random.getrandbits(1),
        ]

    told = use(one)
    assert told == use(same)
    assert told != use(other)
    bits = Decisions(1).random("bits", "")
    assert {bits.getrandbits(3) for _ in range(200)} == set(range(8))
    assert bits.getrandbits(0) == 0
