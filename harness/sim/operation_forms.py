"""What the operations of a schedule must look like, so that a wrong one is refused before the run.

One form for each word that a client knows; docs/reference/schedule.md explains them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.schedule.json_form import FormError, read
from harness.schedule.schedule import Operation, Schedule, ScheduleError


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    partition: int
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    partition: int
    node: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    partition: int
    replica: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassign:
    partition: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveCoordinator:
    replica: int = 0
    of: Literal["groups", "transactions"] = "groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    group: str
    strategy: str
    instance: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    for_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Consume:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Transact:
    """Sends of consecutive values to consecutive partitions, and a pause between the halves."""

    id: str
    value: int
    sends: int = 1
    first: int = 0
    pause_ms: float = 0.0
    abort: bool = False
    timeout_ms: int = 10_000
    protocol: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    id: str
    value: int
    strategy: str = "consumer"
    timeout_ms: int = 10_000
    protocol: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver:
    id: str
    timeout_ms: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCommitted:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    partition: int


AboutPartition = Send | Poll | Commit | Move | Reassign
AboutGroup = MoveCoordinator | Join | Stall | Consume | Leave
AboutTransaction = Transact | Transform | TakeOver | ReadCommitted
Form = AboutPartition | AboutGroup | AboutTransaction

STRATEGIES = ("range", "cooperative", "consumer")
TRANSFORM_STRATEGIES = ("eager", "cooperative", "consumer")

PARTITIONS = 3
"""At least."""

FORMS: dict[str, type[Form]] = {
    "send": Send,
    "poll": Poll,
    "commit": Commit,
    "move": Move,
    "reassign": Reassign,
    "move_coordinator": MoveCoordinator,
    "join": Join,
    "consume": Consume,
    "stall": Stall,
    "leave": Leave,
    "transact": Transact,
    "transform": Transform,
    "take_over": TakeOver,
    "read": ReadCommitted,
}
OF_TRANSACTIONS = frozenset({"transact", "transform", "take_over", "read"})
"""Operations of transactional clients, which have topics and a history of their own."""


def check_operations(schedule: Schedule) -> None:
    """Raises ScheduleError."""
    values: dict[str, str] = {}
    for client, operations in schedule.operations.items():
        if is_transactional(operations):
            _check_alone(client, operations)
        for number, operation in enumerate(operations, 1):
            where = f"operations of {client}, {number}"
            form = _form(operation, where)
            if isinstance(form, AboutPartition):
                _check(form, schedule.nodes, where)
            elif isinstance(form, AboutGroup):
                _check_of_group(form, where)
            else:
                _check_of_transaction(form, where)
            if isinstance(form, Send):
                if form.value in values:
                    raise ScheduleError(
                        f"{where}: {form.value!r} is sent before, at {values[form.value]}; a value "
                        "is sent once ever, so that a second sight of it is a duplicate"
                    )
                values[form.value] = where


def is_transactional(operations: Sequence[Operation]) -> bool:
    """Whether they are those of a transactional client."""
    return any(operation.do in OF_TRANSACTIONS for operation in operations)


def has_transactions(schedule: Schedule) -> bool:
    return any(is_transactional(operations) for operations in schedule.operations.values())


def partitions_of(schedule: Schedule) -> int:
    """Enough for every operation, and no fewer when some are taken out."""
    used = (
        operation.arguments.get("partition", 0)
        for operations in schedule.operations.values()
        for operation in operations
    )
    return max(PARTITIONS, 1 + max(used, default=0))


def _form(operation: Operation, where: str) -> Form:
    if operation.do not in FORMS:
        known = ", ".join(FORMS)
        raise ScheduleError(f"{where}: no client can {operation.do!r}; try one of {known}")
    arguments = dict(operation.arguments)
    try:
        if operation.do != "reassign":
            return read(FORMS[operation.do], arguments, where)
        nodes = arguments.pop("nodes", None)
        if not isinstance(nodes, list) or not all(type(node) is int for node in nodes):
            raise FormError(f"{where}: nodes: {nodes!r} does not fit; it takes numbers in [ ]")
        return Reassign(partition=read(_Where, arguments, where).partition, nodes=tuple(nodes))
    except FormError as error:
        raise ScheduleError(str(error)) from None


def _check_of_group(form: AboutGroup, where: str) -> None:
    if isinstance(form, Join) and form.strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        raise ScheduleError(f"{where}: unknown strategy {form.strategy!r}; choose one of {known}")
    if isinstance(form, MoveCoordinator) and form.replica < 0:
        raise ScheduleError(f"{where}: replica is {form.replica}; try 0")
    if isinstance(form, Stall) and form.for_ms < 0:
        raise ScheduleError(f"{where}: for_ms is {form.for_ms}; try 1000")


def _check_alone(client: str, operations: Sequence[Operation]) -> None:
    for number, operation in enumerate(operations, 1):
        if operation.do not in OF_TRANSACTIONS:
            raise ScheduleError(
                f"operations of {client}, {number}: a transactional client cannot "
                f"{operation.do!r}; give it to another client"
            )


def _check_of_transaction(form: AboutTransaction, where: str) -> None:
    if isinstance(form, Transact | Transform) and form.protocol not in (1, 2):
        raise ScheduleError(f"{where}: protocol is {form.protocol}; try 1 or 2")
    if isinstance(form, Transact) and not (form.sends > 0 and 0 <= form.first < PARTITIONS):
        raise ScheduleError(
            f"{where}: sends is {form.sends} and first is {form.first}; try 1 send, and a "
            f"partition below {PARTITIONS}"
        )
    if isinstance(form, Transact) and form.pause_ms < 0:
        raise ScheduleError(f"{where}: pause_ms is {form.pause_ms}; try 1000")
    if isinstance(form, Transform) and form.strategy not in TRANSFORM_STRATEGIES:
        known = ", ".join(TRANSFORM_STRATEGIES)
        raise ScheduleError(f"{where}: unknown strategy {form.strategy!r}; choose one of {known}")


def _check(form: AboutPartition, nodes: int, where: str) -> None:
    if form.partition < 0:
        raise ScheduleError(f"{where}: partition is {form.partition}; they are counted from 0")
    named: tuple[int, ...] = ()
    if isinstance(form, Poll) and form.node is not None:
        named = (form.node,)
    elif isinstance(form, Reassign):
        named = form.nodes
        if not named or len(set(named)) < len(named):
            raise ScheduleError(f"{where}: nodes are {list(named)}; name each node once")
    for node in named:
        if not 1 <= node <= nodes:
            raise ScheduleError(f"{where}: there is no node {node}; known are 1 to {nodes}")
    if isinstance(form, Commit) and form.offset < 0:
        raise ScheduleError(f"{where}: offset is {form.offset}; they are counted from 0")
    if isinstance(form, Move) and form.replica < 0:
        raise ScheduleError(f"{where}: replica is {form.replica}; try 0")
