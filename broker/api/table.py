"""Every API that clients are served, with its versions."""

from __future__ import annotations

from collections.abc import Mapping

from broker.api.absent_features import describe_acls
from broker.api.add_offsets_to_txn import add_offsets_to_txn
from broker.api.add_partitions_to_txn import add_partitions_to_txn
from broker.api.alter_configs import alter_configs
from broker.api.alter_replica_log_dirs import alter_replica_log_dirs
from broker.api.api_versions import api_versions
from broker.api.broker_loggers import loggers_here
from broker.api.broker_registration import unregister_broker
from broker.api.consumer_group_describe import consumer_group_describe
from broker.api.consumer_group_heartbeat import consumer_group_heartbeat
from broker.api.create_partitions import create_partitions
from broker.api.create_topics import create_topics
from broker.api.delete_groups import delete_groups
from broker.api.delete_records import delete_records
from broker.api.delete_topics import delete_topics
from broker.api.describe_cluster import describe_cluster
from broker.api.describe_configs import describe_configs
from broker.api.describe_groups import describe_groups
from broker.api.describe_log_dirs import describe_log_dirs
from broker.api.describe_producers import describe_producers
from broker.api.describe_quorum import describe_quorum
from broker.api.describe_topic_partitions import describe_topic_partitions
from broker.api.describe_transactions import describe_transactions
from broker.api.elect_leaders import elect_leaders
from broker.api.end_txn import end_txn
from broker.api.fetch import fetch
from broker.api.find_coordinator import find_coordinator
from broker.api.forwarding import Handler, at_the_controller
from broker.api.heartbeat import heartbeat
from broker.api.incremental_alter_configs import incremental_alter_configs
from broker.api.init_producer_id import init_producer_id
from broker.api.join_group import join_group
from broker.api.leave_group import leave_group
from broker.api.list_config_resources import list_config_resources
from broker.api.list_groups import list_groups
from broker.api.list_offsets import list_offsets
from broker.api.list_transactions import list_transactions
from broker.api.metadata import metadata
from broker.api.offset_commit import offset_commit
from broker.api.offset_delete import offset_delete
from broker.api.offset_fetch import offset_fetch
from broker.api.offset_for_leader_epoch import offset_for_leader_epoch
from broker.api.partition_reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from broker.api.produce import produce
from broker.api.served import Api, served
from broker.api.sync_group import sync_group
from broker.api.txn_offset_commit import txn_offset_commit
from broker.api.write_txn_markers import write_txn_markers
from broker.protocol.apis import ApiKey

AT_THE_CONTROLLER: Mapping[int, Handler] = {
    ApiKey.CREATE_TOPICS: create_topics,
    ApiKey.DELETE_TOPICS: delete_topics,
    ApiKey.ALTER_CONFIGS: alter_configs,
    ApiKey.CREATE_PARTITIONS: create_partitions,
    ApiKey.ELECT_LEADERS: elect_leaders,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: alter_partition_reassignments,
    ApiKey.UNREGISTER_BROKER: unregister_broker,
}
"""What changes the cluster's metadata. Any broker may be asked; one node decides."""

API_TABLE: Mapping[int, Api] = dict(
    [
        served(ApiKey.PRODUCE, produce),
        served(ApiKey.FETCH, fetch, may_be_abandoned=True),
        served(ApiKey.LIST_OFFSETS, list_offsets, may_be_abandoned=True),
        served(ApiKey.METADATA, metadata),
        served(ApiKey.FIND_COORDINATOR, find_coordinator),
        served(ApiKey.LIST_GROUPS, list_groups),
        served(ApiKey.DESCRIBE_GROUPS, describe_groups),
        served(ApiKey.DELETE_GROUPS, delete_groups),
        served(ApiKey.OFFSET_DELETE, offset_delete),
        served(ApiKey.OFFSET_FETCH, offset_fetch),
        served(ApiKey.OFFSET_COMMIT, offset_commit),
        served(ApiKey.TXN_OFFSET_COMMIT, txn_offset_commit),
        served(ApiKey.JOIN_GROUP, join_group, may_be_abandoned=True),
        served(ApiKey.SYNC_GROUP, sync_group, may_be_abandoned=True),
        served(ApiKey.HEARTBEAT, heartbeat),
        served(ApiKey.LEAVE_GROUP, leave_group),
        served(ApiKey.CONSUMER_GROUP_HEARTBEAT, consumer_group_heartbeat),
        served(ApiKey.CONSUMER_GROUP_DESCRIBE, consumer_group_describe),
        served(ApiKey.API_VERSIONS, api_versions),
        served(ApiKey.DELETE_RECORDS, delete_records),
        # Version 6 is for transactions in two phases (KIP-939), which are not finished.
        served(ApiKey.INIT_PRODUCER_ID, init_producer_id, up_to=5),
        served(ApiKey.WRITE_TXN_MARKERS, write_txn_markers),
        served(ApiKey.ADD_PARTITIONS_TO_TXN, add_partitions_to_txn),
        served(ApiKey.ADD_OFFSETS_TO_TXN, add_offsets_to_txn),
        served(ApiKey.END_TXN, end_txn),
        served(ApiKey.DESCRIBE_TRANSACTIONS, describe_transactions),
        served(ApiKey.LIST_TRANSACTIONS, list_transactions),
        served(ApiKey.OFFSET_FOR_LEADER_EPOCH, offset_for_leader_epoch),
        served(ApiKey.DESCRIBE_ACLS, describe_acls),
        served(ApiKey.DESCRIBE_CONFIGS, describe_configs),
        served(ApiKey.ALTER_REPLICA_LOG_DIRS, alter_replica_log_dirs),
        served(ApiKey.DESCRIBE_LOG_DIRS, describe_log_dirs),
        served(ApiKey.LIST_PARTITION_REASSIGNMENTS, list_partition_reassignments),
        served(ApiKey.DESCRIBE_CLUSTER, describe_cluster),
        served(ApiKey.DESCRIBE_PRODUCERS, describe_producers),
        served(ApiKey.LIST_CONFIG_RESOURCES, list_config_resources),
        served(ApiKey.DESCRIBE_TOPIC_PARTITIONS, describe_topic_partitions),
        served(ApiKey.DESCRIBE_QUORUM, describe_quorum),
        *(
            served(ApiKey(key), at_the_controller(handler))
            for key, handler in AT_THE_CONTROLLER.items()
        ),
        served(
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            loggers_here(at_the_controller(incremental_alter_configs)),
        ),
    ]
)
