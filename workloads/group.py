"""Members of two consumer groups subscribe, poll, commit, leave and come back; others send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from harness.client.base import Batching, Invocation
from harness.client.group_driver import Commits, Strategy, Subscription
from harness.cluster.base import NewTopic
from harness.cluster.parts import NO_PARTS
from harness.decisions import Decisions
from workloads.base import Load, Membership
from workloads.logs import LOG_CHECKERS, POLL, Logs

_TOPIC = "group"
_PARTITIONS = 6
_LEAVES = 1 / 96
_COMMITS = _LEAVES + 1 / 8
_ASKS = _COMMITS + 1 / 32
_LATE = 150
"""Operations before the members of the second group join: by then there are records to catch up."""
_LEAVE = Invocation("leave")
_COMMIT = Invocation("commit")
_COMMIT_LATER = Invocation("commit-later")
_GROUPS = ("tail", "zero")
_ROLES = 3
_WAYS: tuple[Commits, ...] = ("sync", "async", "auto")
_STATIC = 1 / 3
"""Share of the members that are static."""


class Group:
    """Two consumer groups read one topic: one from the first record on, one that begins later at
    offset 0. Every third client sends."""

    name = "group"
    consistency = (
        "each group: at-least-once delivery, linearizable committed offsets, one owner of a "
        "partition in a generation"
    )
    is_polled = True
    needs = NO_PARTS
    clients_min = _ROLES
    checkers = (
        *LOG_CHECKERS,
        "commit-regression",
        "lost-commit",
        "zombie-commit",
        "two-owners",
        "at-least-once",
        "undelivered",
    )

    def __init__(self, load: Load) -> None:
        self._logs = Logs(load, (_TOPIC,), partitions=_PARTITIONS, sends_bursts=True)
        self._clients = load.clients
        self._decisions = Decisions(load.seed)
        strategies = get_args(Strategy)
        dice = self._decisions.of("strategy", _TOPIC)
        self._strategies: dict[str, Strategy] = {
            group: strategies[int(dice.at(at) * len(strategies))]
            for at, group in enumerate(_GROUPS)
        }

    @property
    def topics(self) -> Sequence[NewTopic]:
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._logs.batching(client)

    def subscription(self, client: int) -> Subscription | None:
        """What this client subscribes to; None for one that sends."""
        role = client % _ROLES
        if role == 0:
            return None
        group = _GROUPS[role - 1]
        dice = self._decisions.of("member", f"c{client}")
        ways = _WAYS
        return Subscription(
            group=group,
            topics=(_TOPIC,),
            strategy=self._strategies[group],
            commits=ways[int(dice.at(0) * len(ways))],
            instance=f"{group}-{client}" if dice.at(1) < _STATIC else None,
        )

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        subscription = self.subscription(client)
        is_first = process < self._clients
        if subscription is None or (is_first and _joins_late(subscription)):
            return ()
        return (_subscribe(subscription),)

    def operation(self, client: int, ordinal: int) -> Invocation:
        subscription = self.subscription(client)
        if subscription is None or (_joins_late(subscription) and ordinal < _LATE):
            return self._logs.send(client, ordinal)
        if _joins_late(subscription) and ordinal == _LATE:
            return _subscribe(subscription)
        kinds = self._logs.kinds[client]
        if ordinal > 0 and kinds.at(ordinal - 1) < _LEAVES:
            return _subscribe(subscription)
        draw = kinds.at(ordinal)
        if draw < _LEAVES:
            return _LEAVE
        if draw < _COMMITS:
            return _COMMIT if subscription.commits == "sync" else _COMMIT_LATER
        return self._asks() if draw < _ASKS else POLL

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return self._logs.write(client, ordinal, key)

    def drained_keys(self, client: int) -> Sequence[str]:
        return self._logs.drained_keys(client)

    def membership(self, client: int) -> Membership | None:
        subscription = self.subscription(client)
        if subscription is None:
            return None
        return Membership(subscription.group, _subscribe(subscription), self._asks())

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()

    def _asks(self) -> Invocation:
        value: dict[str, Any] = {"offsets": dict.fromkeys(self._logs.keys)}
        return Invocation("committed", value)


def _joins_late(subscription: Subscription) -> bool:
    return subscription.group == _GROUPS[1]


def _subscribe(subscription: Subscription) -> Invocation:
    return Invocation("subscribe", subscription.value())
