"""A skip that nobody argued for is seen."""

from tests.conftest import expected_skips, unexpected


def test_a_skip_that_is_not_named_is_a_surprise() -> None:
    expected = expected_skips("# why\ntests/a.py::test_one  # needs a kernel module\n\n")
    assert unexpected(["tests/a.py::test_one[1]", "tests/b.py::test_two"], expected) == [
        "tests/b.py::test_two"
    ]


def test_nothing_is_expected_of_an_empty_file() -> None:
    assert unexpected(["tests/a.py::test_one"], expected_skips("# nothing\n")) == [
        "tests/a.py::test_one"
    ]
