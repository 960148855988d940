"""What two brokers cannot share becomes a symbol; what they must share stays."""

from __future__ import annotations

from typing import Any

from tests.differential.normalise import Symbols, normalised
from tests.differential.show import shown_versions


def normal(value: dict[str, Any], symbols: Symbols | None = None) -> Any:
    return normalised(value, symbols or Symbols(step="s"))


def test_ids_become_symbols_that_last() -> None:
    symbols = Symbols(step="first")
    seen = [normalised({"topic_id": id_}, symbols) for id_ in (b"a" * 16, b"b" * 16, b"a" * 16)]
    names = [each["topic_id"] for each in seen]
    assert names == ["<topic id 1 of first>", "<topic id 2 of first>", "<topic id 1 of first>"]


def test_symbols_of_another_step_do_not_depend_on_those_before() -> None:
    """Else one difference would change the names of all ids behind it."""
    one, other = Symbols(step="first"), Symbols(step="first")
    normalised({"topic_id": b"a" * 16}, one)
    one.step = other.step = "second"
    assert normalised({"topic_id": b"b" * 16}, one) == normalised({"topic_id": b"c" * 16}, other)


def test_the_same_id_in_another_place_keeps_its_name_so_a_mixup_is_seen() -> None:
    same, mixed = Symbols(step="s"), Symbols(step="s")
    first = normalised({"x": [{"topic_id": b"a" * 16}], "y": [{"topic_id": b"a" * 16}]}, same)
    second = normalised({"x": [{"topic_id": b"a" * 16}], "y": [{"topic_id": b"b" * 16}]}, mixed)
    assert first != second


def test_sentinels_stay() -> None:
    value = {"topic_id": bytes(16), "producer_id": -1, "session_id": 0, "host": ""}
    assert normal(value) == value


def test_the_first_producer_id_is_an_id() -> None:
    assert normal({"producer_id": 0}) == {"producer_id": "<producer id 1 of s>"}


def test_offsets_and_epochs_are_kept() -> None:
    value = {"offset": 5, "leader_epoch": 3, "generation_id": 1, "high_watermark": 9}
    assert normal(value) == value


def test_error_codes_become_names() -> None:
    assert normal({"error_code": 3}) == {"error_code": "UNKNOWN_TOPIC_OR_PARTITION"}
    assert normal({"error_code": 1234}) == {"error_code": "error 1234"}


def test_of_a_message_only_its_presence_counts() -> None:
    assert normal({"error_message": "one"}) == normal({"error_message": "another"})
    assert normal({"error_message": "one"}) != normal({"error_message": None})
    assert normal({"error_message": ""}) == normal({"error_message": None})


def test_throttle_times_are_dropped() -> None:
    assert normal({"throttle_time_ms": 5, "error_code": 0}) == {"error_code": "NONE"}


def test_times_are_equal_but_no_time_is_not() -> None:
    assert normal({"log_append_time_ms": 5}) == normal({"log_append_time_ms": 6})
    assert normal({"log_append_time_ms": 5}) != normal({"log_append_time_ms": -1})


def test_member_ids_of_the_broker_are_symbols_and_those_of_a_script_are_not() -> None:
    drawn = "client-01234567-89ab-cdef-0123-456789abcdef"
    assert normal({"member_id": drawn}) == {"member_id": "<member 1 of s>"}
    assert normal({"member_id": "nobody"}) == {"member_id": "nobody"}


def test_names_of_the_play_lose_its_label() -> None:
    symbols = Symbols(label="run-area-story-v3", step="s")
    assert normalised({"name": "run-area-story-v3-topic-1"}, symbols) == {"name": "~-topic-1"}


def test_arrays_are_sorted_by_name_before_ids_are_bound() -> None:
    a, b = {"name": "a", "topic_id": b"1" * 16}, {"name": "b", "topic_id": b"2" * 16}
    assert normal({"topics": [a, b]}) == normal({"topics": [b, a]})


def test_versions_are_shown_as_ranges() -> None:
    assert shown_versions([0, 1, 2, 5, 7, 8]) == "v0-2, v5, v7-8"


def test_elements_with_new_ids_only_are_told_apart_by_their_contents() -> None:
    """No two brokers draw ids in the same order, so the order of ids says nothing."""
    a, b = "c-01234567-89ab-cdef-0123-456789abcdef", "c-11234567-89ab-cdef-0123-456789abcdef"
    one = [{"member_id": a, "assignment": b"all"}, {"member_id": b, "assignment": b""}]
    other = [{"member_id": b, "assignment": b"all"}, {"member_id": a, "assignment": b""}]
    assert normal({"members": one}) == normal({"members": other})


def test_elements_with_known_ids_are_told_apart_by_their_ids() -> None:
    a, b = "c-01234567-89ab-cdef-0123-456789abcdef", "c-11234567-89ab-cdef-0123-456789abcdef"
    right, wrong = Symbols(step="s"), Symbols(step="s")
    for symbols in (right, wrong):
        normalised({"member_id": a}, symbols)
        normalised({"member_id": b}, symbols)
    one = [{"member_id": a, "assignment": b"all"}, {"member_id": b, "assignment": b""}]
    other = [{"member_id": b, "assignment": b"all"}, {"member_id": a, "assignment": b""}]
    assert normal({"members": one}, right) != normal({"members": other}, wrong)


def test_partitions_and_subscriptions_are_sets_and_replicas_are_not() -> None:
    assert normal({"partitions": [2, 0]}) == normal({"partitions": [0, 2]})
    assert normal({"replica_nodes": [2, 0]}) != normal({"replica_nodes": [0, 2]})
