"""A log that was given another name is not missing."""

from __future__ import annotations

from random import Random

import pytest

from broker.log.renamed_logs import DELETE_SUFFIX, STRAY_SUFFIX, missing_from, new_name


@pytest.mark.parametrize("suffix", [DELETE_SUFFIX, STRAY_SUFFIX])
@pytest.mark.parametrize("name", ["a-0", "a.b-12", "x" * 249 + "-123"])
def test_it_is_found_under_its_new_name(name: str, suffix: str) -> None:
    renamed = new_name(name, suffix, Random(7))
    assert len(renamed) <= 255
    assert missing_from(["other-1", renamed], [name]) == []
    assert missing_from([name], [name]) == []


def test_it_is_not_taken_for_another() -> None:
    names = ["a-0", new_name("a-10", DELETE_SUFFIX, Random(7))]
    assert missing_from(names, ["a-0", "a-1", "a-10", "b-0"]) == ["a-1", "b-0"]
