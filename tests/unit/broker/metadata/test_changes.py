"""The form of the records on disk: all of it comes back, and what is no record is refused."""

import json
from typing import Any

import pytest

from broker.metadata.broker_info import Endpoint
from broker.metadata.changes import (
    BrokerRegistered,
    Change,
    ConfigChanged,
    DeletionsRemembered,
    PartitionsChanged,
    ResourceType,
    TopicCreated,
    from_json,
    to_json,
)
from broker.metadata.partition_info import PartitionInfo

ID = bytes(range(16))
SHRUNK = PartitionInfo(
    replicas=(1, 2, 3),
    isr=(2,),
    leader=2,
    leader_epoch=4,
    partition_epoch=9,
    elr=(1,),
    last_known_elr=(3,),
    adding_replicas=(3,),
    removing_replicas=(1,),
    leader_recovery_state=1,
)


@pytest.mark.parametrize(
    "change",
    [
        TopicCreated("t", ID, (SHRUNK,), {"retention.ms": "5"}),
        PartitionsChanged("t", ID, ((0, SHRUNK), (3, PartitionInfo.in_sync((1,))))),
        BrokerRegistered(1, ID, 7, (Endpoint("PLAINTEXT", "n1", 9092, 1),), "r", (ID,), False),
        BrokerRegistered(1, ID, 7, ()),
        ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", None),
        DeletionsRemembered((ID, ID[::-1])),
    ],
)
def test_a_change_comes_back_from_its_json(change: Change) -> None:
    assert from_json(json.loads(json.dumps(to_json(change)))) == change


def test_what_equals_its_default_is_not_written() -> None:
    plain = to_json(PartitionsChanged("t", ID, ((4, PartitionInfo.in_sync((1, 2))),)))
    assert plain == {
        "change": "PartitionsChanged",
        "name": "t",
        "topic_id": ID.hex(),
        "partitions": [[4, {"replicas": [1, 2], "isr": [1, 2], "leader": 1}]],
    }


def with_(**members: Any) -> dict[str, Any]:
    return {**to_json(TopicCreated("t", ID, (SHRUNK,), {})), **members}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in with_().items() if key != name}


@pytest.mark.parametrize(
    "plain",
    [
        with_(change="Nothing"),
        with_(more=1),
        with_(name=1),
        with_(topic_id="no hex"),
        with_(topic_id=1),
        with_(partitions={}),
        with_(partitions=[{"replicas": [1], "isr": [1]}]),
        with_(partitions=[{"replicas": [1], "isr": [1], "leader": True}]),
        with_(partitions=[{"replicas": [1], "isr": ["1"], "leader": 1}]),
        with_(partitions=[[]]),
        with_(configs=[]),
        with_(configs={"retention.ms": 5}),
        without("change"),
        without("name"),
        without("configs"),
        {"change": "PartitionsChanged", "name": "t", "topic_id": "", "partitions": [[1]]},
    ],
)
def test_what_was_never_written_is_refused(plain: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_json(plain)
