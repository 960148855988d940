"""What is wrong with a ConsumerGroupHeartbeat request by itself, whatever the group."""

from __future__ import annotations

from collections.abc import Sequence

from broker.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError

_FIRST_VERSION_WITH_CLIENT_IDS = 1


def check_request(
    request: m.ConsumerGroupHeartbeatRequest, version: int, assignors: Sequence[str]
) -> None:
    """Raises KafkaError. The order of the checks is Kafka's."""
    epoch = request.member_epoch
    makes_its_id = version >= _FIRST_VERSION_WITH_CLIENT_IDS
    if not request.member_id and (makes_its_id or epoch > JOIN_EPOCH or epoch == LEAVE_EPOCH):
        raise _invalid("MemberId can't be empty.")
    for name, value in (
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if value == "":
            raise _invalid(f"{name} can't be empty.")
    if epoch == JOIN_EPOCH:
        _check_join(request)
    elif epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < STATIC_LEAVE_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    assignor = request.server_assignor
    if assignor is not None and assignor not in assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors: "
            f"{', '.join(assignors)}.",
        )


def _check_join(request: m.ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )


def _invalid(problem: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, problem)
