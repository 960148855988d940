"""What can be configured: topics that exist, this broker, and the cluster's default for brokers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from broker.api.topic_names import check_topic_name
from broker.config.broker import BrokerConfig, find_property
from broker.config.errors import ConfigError
from broker.config.property import Property, Update
from broker.config.topic import check_overrides
from broker.metadata.changes import ConfigChanged, ResourceType
from broker.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from broker.node import Node


_CLUSTER_WIDE_PER_LISTENER = (
    "max.connections",
    "max.connection.creation.rate",
    "num.network.threads",
)


def topic_resource(node: Node, name: str) -> None:
    """Raises KafkaError unless the topic exists."""
    check_topic_name(name)
    if node.metadata.image.topic(name) is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")


def broker_resource(node: Node, name: str) -> int | None:
    """The broker's id, or None for what all brokers share."""
    if not name:
        return None
    known = sorted({node.node_id, *node.metadata.image.brokers})
    for broker_id in known:
        if name == str(broker_id):
            return broker_id
    raise KafkaError(
        ErrorCode.INVALID_REQUEST,
        f"there is no broker {name!r}; ask for one of {known}, or for none by ''",
    )


def current_configs(node: Node, resource_type: int, name: str) -> Mapping[str, str]:
    """What is set on the resource itself. Raises KafkaError where nothing can be."""
    image = node.metadata.image
    if resource_type == ResourceType.TOPIC:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "all topics together have no settings")
        topic_resource(node, name)
        return image.topic_configs(name)
    if resource_type == ResourceType.BROKER:
        broker_id = broker_resource(node, name)
        if broker_id is None:
            return image.default_broker_configs()
        return image.own_broker_configs(broker_id)
    raise KafkaError(
        ErrorCode.INVALID_REQUEST,
        f"resources of type {resource_type} cannot be configured; topics (2) and brokers (4) can",
    )


def plan_configs(
    node: Node, resource_type: int, name: str, after: Mapping[str, str]
) -> list[ConfigChanged]:
    """The changes that make the resource's configurations `after`. Raises KafkaError."""
    before = current_configs(node, resource_type, name)
    changed = [key for key in after if before.get(key) != after[key]]
    removed = [key for key in before if key not in after]
    if resource_type == ResourceType.TOPIC:
        check_overrides(after)
    else:
        _check_broker(node, name, changed + removed, after)
    return [
        ConfigChanged(resource_type, name, key, after.get(key)) for key in sorted(changed + removed)
    ]


def _check_broker(node: Node, name: str, touched: list[str], after: Mapping[str, str]) -> None:
    for key in touched:
        known = find_property(key)
        if known is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"no broker property is named {key}")
        if known.update is Update.READ_ONLY:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"{key} cannot be changed while the broker runs; set it in server.properties",
            )
        if _is_per_broker(key, known) and not name:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"{key} can only be set for one broker, by its id"
            )
    image = node.metadata.image
    if name:
        after = {**image.default_broker_configs(), **after}
    else:
        after = {**after, **image.own_broker_configs(node.node_id)}
    try:
        BrokerConfig.of({**node.config.from_file, **after})
    except ConfigError as error:
        first = error.problems[0]
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{first.name}: {first.what}") from None


def _is_per_broker(key: str, known: Property) -> bool:
    """What is set for one listener belongs to one broker, except for these three."""
    return known.update is Update.PER_BROKER or (
        key != known.name and known.name not in _CLUSTER_WIDE_PER_LISTENER
    )
