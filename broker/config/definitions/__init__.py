"""The tables of every broker property that is known, by area."""

from __future__ import annotations

from broker.config.definitions import (
    cluster,
    coordinators,
    logs,
    network,
    quorum,
    replication,
    security,
    surroundings,
)
from broker.config.property import Property

AREAS: dict[str, tuple[Property, ...]] = {
    "The node and its cluster": cluster.PROPERTIES,
    "Replication": replication.PROPERTIES,
    "The controller quorum": quorum.PROPERTIES,
    "Listeners, connections and requests": network.PROPERTIES,
    "Logs": logs.PROPERTIES,
    "Groups, transactions and quotas": coordinators.PROPERTIES,
    "Security": security.PROPERTIES,
    "Reporters and remote storage": surroundings.PROPERTIES,
}

BROKER_PROPERTIES: dict[str, Property] = {
    known.name: known for rows in AREAS.values() for known in rows
}
