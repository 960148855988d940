"""Ids in the form of Kafka's."""

from random import Random
from uuid import UUID

from broker.log.identity import text_of_id
from broker.metadata.ids import new_id


def test_an_id_is_a_random_uuid_whose_text_is_no_option() -> None:
    random = Random(1)
    made = [new_id(random) for _ in range(500)]
    assert len(set(made)) == 500
    assert all(UUID(bytes=each).version == 4 for each in made)
    assert not any(text_of_id(each).startswith("-") for each in made)
