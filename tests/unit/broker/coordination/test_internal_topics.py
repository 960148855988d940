"""Groups belong to the partition that Kafka gives them."""

import pytest

from broker.coordination.internal_topics import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "printed_by_java"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("console-consumer-12345", 158455506),
        ("my-group", -1906497762),
        ("naïve-Gruppe-ß", -633958609),
        ("\U0001f600", 1772899),
    ],
)
def test_the_hash_is_that_of_java(text: str, printed_by_java: int) -> None:
    assert java_hash(text) == printed_by_java


def test_a_negative_hash_counts_by_its_absolute_value() -> None:
    assert partition_for("my-group", 50) == 1906497762 % 50


def test_the_smallest_integer_has_no_absolute_value_in_java() -> None:
    assert partition_for("polygenelubricants", 50) == 0
