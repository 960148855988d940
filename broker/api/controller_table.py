"""Every API that the controllers' listener serves: to other controllers and to brokers."""

from __future__ import annotations

from collections.abc import Mapping

from broker.api.allocate_producer_ids import allocate_producer_ids
from broker.api.alter_partition import alter_partition
from broker.api.api_versions import api_versions
from broker.api.assign_replicas_to_dirs import assign_replicas_to_dirs
from broker.api.broker_heartbeat import broker_heartbeat
from broker.api.broker_registration import broker_registration
from broker.api.describe_cluster import describe_controllers
from broker.api.forwarding import envelope
from broker.api.quorum_members import (
    begin_quorum_epoch,
    describe_quorum_here,
    end_quorum_epoch,
    fetch_metadata_log,
    fetch_snapshot,
    vote,
)
from broker.api.served import Api, served
from broker.api.table import AT_THE_CONTROLLER
from broker.protocol.apis import ApiKey

CONTROLLER_TABLE: Mapping[int, Api] = dict(
    [
        served(ApiKey.FETCH, fetch_metadata_log, may_be_abandoned=True),
        served(ApiKey.API_VERSIONS, api_versions),
        served(ApiKey.VOTE, vote),
        served(ApiKey.BEGIN_QUORUM_EPOCH, begin_quorum_epoch),
        served(ApiKey.END_QUORUM_EPOCH, end_quorum_epoch),
        served(ApiKey.DESCRIBE_QUORUM, describe_quorum_here),
        served(ApiKey.DESCRIBE_CLUSTER, describe_controllers),
        served(ApiKey.ALTER_PARTITION, alter_partition),
        served(ApiKey.ENVELOPE, envelope(AT_THE_CONTROLLER)),
        served(ApiKey.FETCH_SNAPSHOT, fetch_snapshot, may_be_abandoned=True),
        served(ApiKey.BROKER_REGISTRATION, broker_registration),
        served(ApiKey.BROKER_HEARTBEAT, broker_heartbeat),
        served(ApiKey.ALLOCATE_PRODUCER_IDS, allocate_producer_ids),
        served(ApiKey.ASSIGN_REPLICAS_TO_DIRS, assign_replicas_to_dirs),
    ]
)
