"""The names are Kafka's: those of the reference broker, which has them from elsewhere."""

from broker.protocol.errors import ErrorCode
from harness.client.error_names import ERROR_NAMES, error_name


def test_every_code_has_its_name() -> None:
    assert {code.value: code.name for code in ErrorCode} == ERROR_NAMES


def test_an_error_of_the_librarys_own_keeps_its_name() -> None:
    assert error_name(-192, "_MSG_TIMED_OUT") == "_MSG_TIMED_OUT"
    assert error_name(6, "NOT_LEADER_FOR_PARTITION") == "NOT_LEADER_OR_FOLLOWER"
