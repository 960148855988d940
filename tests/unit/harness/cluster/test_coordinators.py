"""Which partition coordinates a group."""

from __future__ import annotations

import pytest

from harness.cluster.coordinators import coordinator_partition


@pytest.mark.parametrize(
    ("group", "code"),
    [
        ("", 0),
        ("a", 97),
        ("tail", 3552336),
        ("orders-service", 23943117),
        ("\U0001f600", 1772899),
    ],
)
def test_the_hash_is_that_of_java(group: str, code: int) -> None:
    """Codes by Java's String.hashCode, its sign taken away."""
    assert coordinator_partition(group, 1 << 31) == code
    assert coordinator_partition(group, 50) == code % 50
