"""The error codes are Kafka's, by name, number and retriability."""

from kio.schema.errors import ErrorCode as TheirErrorCode

from broker.protocol.errors import ErrorCode, KafkaError


def test_every_code_has_kafkas_name_and_number() -> None:
    assert {code.name.lower(): code.value for code in ErrorCode} == {
        code.name: code.value for code in TheirErrorCode
    }


def test_the_same_codes_are_retriable_as_in_kafka() -> None:
    assert {code.value for code in ErrorCode if code.retriable} == {
        code.value for code in TheirErrorCode if code.retriable
    }


def test_an_error_without_a_message_says_its_name() -> None:
    assert str(KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)) == "offset out of range"
    assert KafkaError(ErrorCode.INVALID_CONFIG, "no such key").message == "no such key"
