"""Every API that this broker serves, with its versions. What is not here is not advertised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from broker.api.absent_features import describe_acls, list_groups, list_partition_reassignments
from broker.api.alter_configs import alter_configs
from broker.api.api_versions import api_versions
from broker.api.create_partitions import create_partitions
from broker.api.create_topics import create_topics
from broker.api.delete_records import delete_records
from broker.api.delete_topics import delete_topics
from broker.api.describe_cluster import describe_cluster
from broker.api.describe_configs import describe_configs
from broker.api.describe_log_dirs import describe_log_dirs
from broker.api.describe_producers import describe_producers
from broker.api.describe_topic_partitions import describe_topic_partitions
from broker.api.fetch import fetch
from broker.api.find_coordinator import find_coordinator
from broker.api.incremental_alter_configs import incremental_alter_configs
from broker.api.init_producer_id import init_producer_id
from broker.api.list_config_resources import list_config_resources
from broker.api.list_offsets import list_offsets
from broker.api.metadata import metadata
from broker.api.offset_for_leader_epoch import offset_for_leader_epoch
from broker.api.produce import produce
from broker.protocol.apis import API_VERSIONS, ApiKey


@dataclass(frozen=True, slots=True)
class Api:
    """`handler(node, request)` gives the answer, a coroutine for it, or None for no answer."""

    handler: Callable[[Any, Any], Any]
    version_min: int
    version_max: int
    may_be_abandoned: bool = False
    """Whether to give up when the client is gone: true for waiting, never for changing things."""


def _api(
    key: ApiKey, handler: Callable[[Any, Any], Any], *, may_be_abandoned: bool = False
) -> tuple[int, Api]:
    version_min, version_max = API_VERSIONS[key]
    return key, Api(handler, version_min, version_max, may_be_abandoned)


API_TABLE: Mapping[int, Api] = dict(
    [
        _api(ApiKey.PRODUCE, produce),
        _api(ApiKey.FETCH, fetch, may_be_abandoned=True),
        _api(ApiKey.LIST_OFFSETS, list_offsets, may_be_abandoned=True),
        _api(ApiKey.METADATA, metadata),
        _api(ApiKey.FIND_COORDINATOR, find_coordinator),
        _api(ApiKey.LIST_GROUPS, list_groups),
        _api(ApiKey.API_VERSIONS, api_versions),
        _api(ApiKey.CREATE_TOPICS, create_topics),
        _api(ApiKey.DELETE_TOPICS, delete_topics),
        _api(ApiKey.DELETE_RECORDS, delete_records),
        _api(ApiKey.INIT_PRODUCER_ID, init_producer_id),
        _api(ApiKey.OFFSET_FOR_LEADER_EPOCH, offset_for_leader_epoch),
        _api(ApiKey.DESCRIBE_ACLS, describe_acls),
        _api(ApiKey.DESCRIBE_CONFIGS, describe_configs),
        _api(ApiKey.ALTER_CONFIGS, alter_configs),
        _api(ApiKey.DESCRIBE_LOG_DIRS, describe_log_dirs),
        _api(ApiKey.CREATE_PARTITIONS, create_partitions),
        _api(ApiKey.INCREMENTAL_ALTER_CONFIGS, incremental_alter_configs),
        _api(ApiKey.LIST_PARTITION_REASSIGNMENTS, list_partition_reassignments),
        _api(ApiKey.DESCRIBE_CLUSTER, describe_cluster),
        _api(ApiKey.DESCRIBE_PRODUCERS, describe_producers),
        _api(ApiKey.LIST_CONFIG_RESOURCES, list_config_resources),
        _api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, describe_topic_partitions),
    ]
)
