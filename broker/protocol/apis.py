"""The APIs the codec knows: their keys, their versions, the versions of their headers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from broker.protocol.schema_text import schema


class ApiKey(IntEnum):
    """The numbers on the wire, by Kafka's names."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82


API_VERSIONS: Mapping[ApiKey, tuple[int, int]] = {
    ApiKey(key): (api.versions.first, api.versions.last)
    for key, api in sorted(schema().apis.items())
}
"""The first and last version the *codec* knows. What is served is told by the handlers' table."""

ADVERTISED_FIRST_VERSION: Mapping[ApiKey, int] = {ApiKey.PRODUCE: 0}
"""Where ApiVersions says less than the truth.

Produce 0 to 2 are refused, but an older librdkafka, such as 2.0, sends gzip, snappy and lz4
uncompressed to a broker that does not offer them (KAFKA-18659).
"""


_VERSIONS_END = 1 << 15
_FIRST_FLEXIBLE = {key: api.flexible.first for key, api in schema().apis.items() if api.flexible}


def request_header_version(api_key: int, version: int) -> int:
    """Also for versions and keys that are not known: their header must be read to refuse them."""
    return 2 if version >= _FIRST_FLEXIBLE.get(api_key, _VERSIONS_END) else 1


def response_header_version(api_key: int, version: int) -> int:
    # A client reads the answer to ApiVersions before it knows which versions the broker speaks.
    if api_key == ApiKey.API_VERSIONS:
        return 0
    return request_header_version(api_key, version) - 1


def api_name(api_key: int) -> str:
    """For messages; also for a key that no API has."""
    return ApiKey(api_key).name if api_key in API_VERSIONS else f"api {api_key}"
