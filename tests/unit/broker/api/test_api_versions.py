"""ApiVersions: the first thing that a client hears."""

import pytest

from broker.api.api_versions import api_versions
from broker.api.table import API_TABLE
from broker.protocol import messages as m
from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from tests.unit.broker.api.nodes import ask, create_topic, running_node


def software(name: str = "apache-kafka-java", version: str = "4.1.0") -> m.ApiVersionsRequest:
    return m.ApiVersionsRequest(client_software_name=name, client_software_version=version)


async def test_exactly_what_is_served_is_advertised() -> None:
    async with running_node() as node:
        told = api_versions(node, ask(ApiKey.API_VERSIONS, software()))
        assert told.error_code == ErrorCode.NONE
        assert [key.api_key for key in told.api_keys] == sorted(API_TABLE)
        ranges = {key.api_key: (key.min_version, key.max_version) for key in told.api_keys}
        for key, api in API_TABLE.items():
            assert ranges[key][1] == api.version_max
            assert ranges[key][0] == (0 if key == ApiKey.PRODUCE else api.version_min)


async def test_features_name_their_versions_and_an_epoch() -> None:
    async with running_node() as node:
        told = api_versions(node, ask(ApiKey.API_VERSIONS, software()))
        assert [
            (each.name, each.min_version, each.max_version) for each in told.supported_features
        ] == [
            ("metadata.version", 7, 25),
            ("group.version", 0, 1),
            ("transaction.version", 0, 2),
        ]
        assert [(each.name, each.max_version_level) for each in told.finalized_features] == [
            ("metadata.version", 25),
            ("group.version", 1),
            ("transaction.version", 2),
        ]
        before = told.finalized_features_epoch
        assert before == node.metadata.applied_offset - 1 > 0
        await create_topic(node, "t")
        told = api_versions(node, ask(ApiKey.API_VERSIONS, software()))
        assert told.finalized_features_epoch > before


@pytest.mark.parametrize(
    ("version", "names"),
    [
        (3, ["metadata.version"]),
        (4, ["metadata.version", "group.version", "transaction.version"]),
    ],
)
async def test_clients_before_version_4_hear_of_no_feature_that_begins_with_0(
    version: int, names: list[str]
) -> None:
    async with running_node() as node:
        told = api_versions(node, ask(ApiKey.API_VERSIONS, software(), version))
        assert [each.name for each in told.supported_features] == names
        assert len(told.finalized_features) == 3


async def test_a_version_that_kafka_calls_unstable_is_not_advertised() -> None:
    async with running_node() as node:
        told = api_versions(node, ask(ApiKey.API_VERSIONS, software()))
        ranges = {key.api_key: key.max_version for key in told.api_keys}
        assert ranges[ApiKey.INIT_PRODUCER_ID] == 5


@pytest.mark.parametrize("version", [5, 99, 32767])
async def test_a_version_from_the_future_is_answered_with_the_list(version: int) -> None:
    async with running_node() as node:
        told = api_versions(node, ask(ApiKey.API_VERSIONS, m.ApiVersionsRequest(), version))
        assert told.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert len(told.api_keys) == len(API_TABLE)


@pytest.mark.parametrize(
    ("name", "software_version", "version", "code"),
    [
        ("librdkafka", "2.16.1", 3, ErrorCode.NONE),
        ("", "1", 3, ErrorCode.INVALID_REQUEST),
        ("-x", "1", 3, ErrorCode.INVALID_REQUEST),
        ("x", "1.0-", 4, ErrorCode.INVALID_REQUEST),
        ("x\n", "1", 4, ErrorCode.INVALID_REQUEST),
        ("", "", 2, ErrorCode.NONE),
    ],
)
async def test_a_clients_software_must_be_named_plainly(
    name: str, software_version: str, version: int, code: ErrorCode
) -> None:
    async with running_node() as node:
        body = software(name, software_version)
        assert api_versions(node, ask(ApiKey.API_VERSIONS, body, version)).error_code == code
