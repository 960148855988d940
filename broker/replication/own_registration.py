"""Which metadata a node that has started again may act on."""

from __future__ import annotations

from collections.abc import Mapping

from broker.metadata.broker_info import BrokerInfo


def knows_this_life(brokers: Mapping[int, BrokerInfo], node_id: int, broker_epoch: int) -> bool:
    """False for metadata from before the node's registration: it must lead and follow nothing.

    Such metadata may say that it leads, in an epoch that began in a former life. Had its log lost
    its end since, it would write other records at offsets that this epoch has used already, and
    followers that have not heard of the restart would truncate what is committed after it. The
    registration ends every leadership of the former life, so later metadata does not say that.
    """
    own = brokers.get(node_id)
    return own is not None and own.broker_epoch == broker_epoch
