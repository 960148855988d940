"""Draws message faults from a seed: a chosen message is late, lost, doubled or answered wrongly.

One such message reaches states that crashes reach only by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from harness.decisions import Decisions
from harness.wire.match import (
    Action,
    Delay,
    Drop,
    Duplicate,
    Matcher,
    MessageFault,
    ReplaceByError,
)
from harness.wire.message import Direction

COUNT_MAX = 12

_APIS = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.METADATA,
    ApiKey.ALTER_PARTITION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.INIT_PRODUCER_ID,
)

_ERRORS: dict[ApiKey, tuple[ErrorCode, ...]] = {
    ApiKey.PRODUCE: (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ),
    ApiKey.FETCH: (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH),
    ApiKey.METADATA: (ErrorCode.LEADER_NOT_AVAILABLE,),
}
"""What the broker did is told as a failure that every client tries again."""


_GROUP_APIS = (
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
)


def draw_group_faults(decisions: Decisions) -> tuple[MessageFault, ...]:
    """Faults of messages between members of groups and their coordinators.

    A commit is not doubled: the copy may come after a later commit of the same member, and nothing
    in the request says so. Committed offsets could not be judged then.
    """
    count = decisions.random("swarm_messages", "group count").randint(2, COUNT_MAX)
    drawn = []
    for number in range(1, count + 1):
        dice = decisions.random("swarm_message", f"g{number}")
        api = dice.choice(_GROUP_APIS)
        directions: tuple[Direction, ...] = ("request", "reply")
        direction = "reply" if api == ApiKey.OFFSET_COMMIT else dice.choice(directions)
        action = _action(dice, api, direction)
        matcher = Matcher(api=api, direction=direction, nth=int(10 ** dice.uniform(0.0, 1.3)))
        drawn.append(MessageFault(f"g{number}", matcher, action, dice.choice((1, 1, 2, 5))))
    return tuple(drawn)


_TRANSACTION_APIS = (
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.PRODUCE,
    ApiKey.FIND_COORDINATOR,
)
_NEVER_LATE = (ApiKey.END_TXN, ApiKey.WRITE_TXN_MARKERS, ApiKey.TXN_OFFSET_COMMIT)
"""Requests that do harm when they come late, in the first protocol of transactions: an epoch lasts
for many transactions, so a late request is taken for one of the next (KAFKA-17754, KIP-890)."""


def draw_transaction_faults(decisions: Decisions, protocol: int) -> tuple[MessageFault, ...]:
    """Faults of messages between transactional clients, coordinators and partitions.

    With the first protocol the requests that it cannot bear late are lost instead.
    """
    count = decisions.random("swarm_messages", "transaction count").randint(2, COUNT_MAX)
    drawn = []
    for number in range(1, count + 1):
        dice = decisions.random("swarm_message", f"t{number}")
        api = dice.choice(_TRANSACTION_APIS)
        direction: Direction = dice.choice(("request", "reply"))
        action = _action(dice, api, direction)
        if protocol == 1 and direction == "request" and api in _NEVER_LATE:
            action = Drop()
        matcher = Matcher(api=api, direction=direction, nth=int(10 ** dice.uniform(0.0, 1.7)))
        drawn.append(MessageFault(f"t{number}", matcher, action, dice.choice((1, 1, 2, 5))))
    return tuple(drawn)


def draw_message_faults(decisions: Decisions, nodes: Sequence[str]) -> tuple[MessageFault, ...]:
    count = decisions.random("swarm_messages", "count").randint(1, COUNT_MAX)
    drawn = []
    for number in range(1, count + 1):
        dice = decisions.random("swarm_message", f"m{number}")
        api = dice.choice(_APIS)
        direction: Direction = dice.choice(("request", "reply"))
        action = _action(dice, api, direction)
        matcher = Matcher(
            api=api,
            direction=direction,
            node=dice.choice([None, *nodes]),
            nth=int(10 ** dice.uniform(0.0, 2.5)),
        )
        drawn.append(MessageFault(f"m{number}", matcher, action, dice.choice((1, 1, 1, 2, 5))))
    return tuple(drawn)


def _action(dice: Random, api: ApiKey, direction: Direction) -> Action:
    kinds = ["delay", "delay", "drop"]
    if direction == "request":
        kinds.append("duplicate")
    elif api in _ERRORS:
        kinds.append("error")
    match dice.choice(kinds):
        case "delay":
            return Delay(round(10 ** dice.uniform(-2.0, 1.0), 4))
        case "drop":
            return Drop()
        case "duplicate":
            return Duplicate(round(10 ** dice.uniform(-3.0, 1.0), 4))
        case _:
            return ReplaceByError(dice.choice(_ERRORS[api]))
