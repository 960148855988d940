"""The table of APIs is the schema's, by Kafka's names and with Kafka 4's first versions."""

import re

from kio.schema.index import api_key_map, schema_name_map

from broker.protocol.apis import ADVERTISED_FIRST_VERSION, API_VERSIONS, ApiKey
from broker.protocol.schema_text import schema


def test_every_api_of_the_schema_has_its_key() -> None:
    names = {
        key: re.sub("(?<=[a-z])(?=[A-Z])", "_", api.name).upper()
        for key, api in schema().apis.items()
    }
    assert names == {key.value: key.name for key in ApiKey}


def test_the_codec_knows_all_versions_of_kafka_4() -> None:
    for key, (first, last) in API_VERSIONS.items():
        theirs = sorted(schema_name_map[api_key_map[key]])
        assert [*range(first, last + 1)] == theirs, key.name


def test_produce_is_advertised_from_zero() -> None:
    assert API_VERSIONS[ApiKey.PRODUCE][0] == 3
    assert ADVERTISED_FIRST_VERSION[ApiKey.PRODUCE] == 0
