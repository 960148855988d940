"""How the leader of a classic group deals out partitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.native.assignors import (
    Claim,
    Slot,
    cooperative_assignment,
    range_assignment,
)

COUNTS = {"t": 6}


def claim(*owned: int, generation: int = 1) -> Claim:
    return Claim(("t",), tuple(("t", index) for index in owned), generation)


def indexes(assignment: dict[str, list[Slot]]) -> dict[str, list[int]]:
    return {member: [index for _, index in slots] for member, slots in assignment.items()}


def test_a_range_is_a_stretch_of_each_topic() -> None:
    found = range_assignment({"a": claim(), "b": claim()}, {"t": 5, "u": 0})
    assert indexes(found) == {"a": [0, 1], "b": [2, 3, 4]}


def test_a_partition_that_moves_waits_until_its_owner_has_given_it_up() -> None:
    claims = {"a": claim(0, 1, 2, 3, 4, 5), "b": claim(generation=-1)}
    first = cooperative_assignment(claims, COUNTS)
    assert indexes(first) == {"a": [0, 1, 2], "b": []}
    second = cooperative_assignment({"a": claim(0, 1, 2), "b": claim()}, COUNTS)
    assert indexes(second) == {"a": [0, 1, 2], "b": [3, 4, 5]}


def test_of_two_claims_the_one_of_the_later_generation_counts() -> None:
    claims = {"a": claim(0, 1, 2, generation=4), "b": claim(0, 1, 2, 3, 4, 5, generation=5)}
    found = indexes(cooperative_assignment(claims, COUNTS))
    assert found == {"a": [], "b": [0, 1, 2]}


def test_of_two_claims_of_one_generation_neither_counts() -> None:
    claims = {"a": claim(0, 1, 2), "b": claim(2, 3, 4, 5)}
    found = indexes(cooperative_assignment(claims, COUNTS))
    assert sorted(found["a"] + found["b"]) == [0, 1, 2, 3, 4, 5]


OWNED = st.lists(st.integers(0, 9), max_size=10, unique=True)
CLAIMS = st.dictionaries(
    st.sampled_from("abcd"),
    st.builds(
        lambda owned, generation: claim(*owned, generation=generation), OWNED, st.integers(0, 3)
    ),
    min_size=1,
)


@given(CLAIMS, st.integers(0, 9))
def test_rounds_come_to_a_balanced_end_without_two_owners(
    claims: dict[str, Claim], count: int
) -> None:
    """Each member joins again with what it was given, as often as there is something to move."""
    counts = {"t": count}
    for generation in range(10, 15):
        found = cooperative_assignment(claims, counts)
        given_out = [slot for slots in found.values() for slot in slots]
        assert len(given_out) == len(set(given_out))
        if {member: set(found[member]) for member in found} == {
            member: set(claims[member].owned) for member in claims
        }:
            break
        claims = {
            member: Claim(("t",), tuple(slots), generation) for member, slots in found.items()
        }
    sizes = [len(slots) for slots in found.values()]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1
