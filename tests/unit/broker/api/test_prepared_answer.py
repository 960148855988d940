"""A prepared answer is, byte for byte, what encoding the message would give."""

from hypothesis import given
from hypothesis import strategies as st

from broker.api.prepared_answer import (
    FIRST_VERSION,
    FIRST_VERSION_BY_TOPIC_ID,
    PreparedAnswer,
    answer_template,
)
from broker.protocol import codec, frames
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey

longs = st.integers(-1, 2**63 - 1)


@given(
    version=st.integers(FIRST_VERSION, FIRST_VERSION_BY_TOPIC_ID - 1),
    topic=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80),
    index=st.integers(0, 2**31 - 1),
    numbers=st.tuples(longs, longs, longs),
    correlation_id=st.integers(-(2**31), 2**31 - 1),
    throttle_ms=st.integers(0, 2**31 - 1),
)
def test_prepared_and_encoded_answers_are_the_same_bytes(
    version: int,
    topic: str,
    index: int,
    numbers: tuple[int, int, int],
    correlation_id: int,
    throttle_ms: int,
) -> None:
    base_offset, append_time_ms, log_start = numbers
    part = m.PartitionProduceResponse(
        index=index,
        base_offset=base_offset,
        log_append_time_ms=append_time_ms,
        log_start_offset=log_start,
    )
    message = m.ProduceResponse(
        responses=[m.TopicProduceResponse(name=topic, partition_responses=[part])],
        throttle_time_ms=throttle_ms,
    )
    body = codec.encode_response(ApiKey.PRODUCE, version, message)
    encoded = b"".join(frames.response_frame(ApiKey.PRODUCE, version, correlation_id, body))

    prepared = PreparedAnswer(answer_template(version, topic, index), *numbers)
    prepared.throttle_time_ms = throttle_ms
    assert prepared.frame(correlation_id) == encoded
