"""Message faults as data: which message, and what becomes of it.

A simulated network and a real proxy ask the same `MessageFaults` about every message. Bodies are
decoded only for a fault that asks for a topic, a group or a transaction.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from broker.protocol.apis import ApiKey
from broker.protocol.errors import ErrorCode
from broker.protocol.schema_text import schema
from harness.wire.error_reply import can_carry_error, error_reply, errors_in
from harness.wire.message import Direction, Message
from harness.wire.names import TopicNameOf
from harness.wire.topic_ids import TopicIds


class MessageFaultError(ValueError):
    """A fault that cannot be meant: what is wrong, where, and what to try."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        told = f"{where}: {what}" if where else what
        super().__init__(f"{told}; {hint}" if hint else told)

    def at(self, where: str) -> MessageFaultError:
        return MessageFaultError(self.what, where=where, hint=self.hint)


@dataclass(frozen=True, slots=True)
class Delay:
    """The message arrives so much later; what follows it on its connection waits behind it."""

    seconds: float

    def __post_init__(self) -> None:
        _check_seconds("a delay", self.seconds)


@dataclass(frozen=True, slots=True)
class Drop:
    """The message never arrives, nor does anything behind it on its connection, in its direction.

    A stream has no holes. A broker that missed a producer's first batch and got the second would
    take that one for the first: no network can do this to it, so no fault may.
    """


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The request arrives, and a copy of it so much later. The copy's reply goes to nobody."""

    after_s: float = 0.0

    def __post_init__(self) -> None:
        _check_seconds("a duplicate's distance", self.after_s)


@dataclass(frozen=True, slots=True)
class ReplaceByError:
    """The broker did what it was asked, and the client is told that it failed."""

    code: ErrorCode

    def __post_init__(self) -> None:
        if self.code == ErrorCode.NONE:
            raise MessageFaultError("NONE is no error", hint="try NOT_LEADER_OR_FOLLOWER")

    def replaced(self, reply: Message) -> bytes:
        """The frame to send instead, without its length."""
        return error_reply(reply, self.code)


Action = Delay | Drop | Duplicate | ReplaceByError


Api = ApiKey | str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """A message matches when it has every property that is given; None asks for nothing.

    A reply has the names that are in it, and for what its kind never says those of its request:
    the reply to an EndTxn is found by its transactional id.
    """

    api: Api | Sequence[Api] | None = None
    """Kafka's name (`EndTxn`, or `END_TXN`) or its number; several of them match any."""
    direction: Direction | None = None
    node: str | None = None
    """At either end of the connection."""
    source: str | None = None
    target: str | None = None
    client_id: str | None = None
    transactional_id: str | None = None
    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    committed: bool | None = None
    """Of an EndTxn: whether it commits or aborts."""
    nth: int | None = None
    """Passes over the first n - 1 messages that match the rest; counted for each fault.

    A matcher that names nothing but a kind of message counts on each connection by itself: a count
    over all of them would depend on whatever else happens anywhere."""

    def __post_init__(self) -> None:
        if self.api is not None:
            found = tuple(map(api_named, _each_api(self.api)))
            if not found:
                raise MessageFaultError("api is an empty list", hint="leave it out to match all")
            object.__setattr__(self, "api", found[0] if len(found) == 1 else found)
        if self.direction not in (None, "request", "reply"):
            raise MessageFaultError(
                f"direction is {self.direction!r}", hint="try 'request' or 'reply'"
            )
        if self.committed is not None and self.api_keys != (ApiKey.END_TXN,):
            raise MessageFaultError(
                "only an EndTxn says whether it commits", hint="match api 'EndTxn', too"
            )
        if self.nth is not None and self.nth < 1:
            raise MessageFaultError(
                f"nth is {self.nth}", hint="the first message that matches is number 1"
            )
        if self.partition is not None and self.partition < 0:
            raise MessageFaultError(
                f"partition is {self.partition}", hint="partitions are counted from 0"
            )

    @property
    def api_keys(self) -> tuple[ApiKey, ...]:
        """Kinds of requests that match; empty if any does."""
        return () if self.api is None else tuple(map(api_named, _each_api(self.api)))

    @property
    def names_something(self) -> bool:
        """A host, a client or what the message is about."""
        return any(
            name is not None
            for name in (self.node, self.source, self.target, self.client_id,
                         self.transactional_id, self.group, self.topic, self.partition)
        )  # fmt: skip

    def fits(self, message: Message, topic_name_of: TopicNameOf) -> bool:
        """Everything but `nth`."""
        if (
            (self.direction is not None and message.direction != self.direction)
            or (self.api is not None and message.api_key not in self.api_keys)
            or (self.source is not None and message.source != self.source)
            or (self.target is not None and message.target != self.target)
            or (self.node is not None and self.node not in (message.source, message.target))
            or (self.client_id is not None and message.client_id != self.client_id)
        ):
            return False
        return self._fits_body(message, topic_name_of)

    def _fits_body(self, message: Message, topic_name_of: TopicNameOf) -> bool:
        transaction, group = self.transactional_id, self.group
        if transaction is not None and transaction not in message.names.transactional_ids:
            return False
        if group is not None and group not in message.names.groups:
            return False
        if self.committed is not None:
            asked = message if message.is_request else message.request
            if asked is None or asked.body is None or asked.body.committed != self.committed:
                return False
        if self.topic is None and self.partition is None:
            return True
        return message.names.has_topic(self.topic, self.partition, topic_name_of)


@dataclass(frozen=True, slots=True)
class MessageFault:
    name: str
    matcher: Matcher
    action: Action
    times: int | None = 1
    """How many messages it hits, from the `nth` on; None for all of them."""

    def __post_init__(self) -> None:
        where = f"message fault {self.name!r}"
        if not self.name:
            raise MessageFaultError("a message fault has no name", hint="name it after its aim")
        if self.times is not None and self.times < 1:
            raise MessageFaultError(f"times is {self.times}", where=where, hint="try 1")
        direction = self.matcher.direction
        if isinstance(self.action, Duplicate) and direction == "reply":
            raise MessageFaultError(
                "a reply cannot be duplicated, no client waits for it twice",
                where=where,
                hint="duplicate the request",
            )
        if isinstance(self.action, ReplaceByError) and direction == "request":
            raise MessageFaultError(
                "a request cannot be replaced by an error",
                where=where,
                hint="match its reply, or drop the request",
            )

    @property
    def direction(self) -> Direction | None:
        """What is left of the matcher's choice when the action has had its say."""
        match self.action:
            case Duplicate():
                return "request"
            case ReplaceByError():
                return "reply"
            case Delay() | Drop():
                return self.matcher.direction


@dataclass(slots=True)
class FaultCount:
    """What a fault has met. A run in which `hit` stays 0 has proved nothing about it."""

    matched: int = 0
    hit: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    """How brokers answered the requests that it hit: errors by name, NONE for success."""


class MessageFaults:
    """All faults that are in force, with their counts."""

    def __init__(
        self,
        faults: Iterable[MessageFault] = (),
        *,
        topic_name_of: TopicNameOf = lambda _: None,
    ) -> None:
        """`topic_name_of` helps with versions that say only ids; some are learned in passing."""
        self._given_name_of = topic_name_of
        self._topic_ids = TopicIds()
        self._asks_for_topics = False
        self._counts: dict[str, FaultCount] = {}
        self._matched_on: dict[tuple[str, str], int] = {}
        self._in_force: dict[str, MessageFault] = {}
        self._by_api: dict[int, tuple[MessageFault, ...]] = {}
        self._for_any_api: tuple[MessageFault, ...] = ()
        for fault in faults:
            self.add(fault)

    def add(self, fault: MessageFault) -> None:
        if fault.name in self._counts:
            raise MessageFaultError(
                "there was one of that name before",
                where=f"message fault {fault.name!r}",
                hint="names tell the counts apart, so give each fault its own",
            )
        self._counts[fault.name] = FaultCount()
        self._in_force[fault.name] = fault
        self._index()

    def remove(self, name: str) -> None:
        """Its counts stay. Safe for a fault that is gone already."""
        if self._in_force.pop(name, None) is not None:
            self._index()

    def decide(self, message: Message) -> tuple[Action, ...]:
        """What becomes of the message, in the order in which the faults were given.

        Ask once for each message: every question counts. Where one of the actions is a Drop, the
        others do not matter.
        """
        if self._asks_for_topics:
            self._topic_ids.learn(message)
        if message.request is not None and message.request.hit_by:
            self._note_answer(message, message.request)
        faults = self._by_api.get(message.api_key, self._for_any_api)
        if not faults or message.is_surplus:
            return ()
        return tuple(fault.action for fault in faults if self._hits(fault, message))

    def counts(self) -> dict[str, FaultCount]:
        return dict(self._counts)

    def hits(self, name: str) -> int:
        """How many messages the fault has taken hold of."""
        return self._counts[name].hit

    def answers(self, name: str) -> dict[str, int]:
        """How brokers answered the requests that the fault hit, by the name of the error.

        A request that was dropped has no answer. One that was duplicated has that to the original.
        Empty for a fault that was never added.
        """
        return dict(self._counts.get(name, FaultCount()).answers)

    def _note_answer(self, reply: Message, request: Message) -> None:
        for error in errors_in(reply):
            for name in request.hit_by:
                self._counts[name].answers[error] += 1

    def _topic_name_of(self, topic_id: bytes) -> str | None:
        return self._given_name_of(topic_id) or self._topic_ids.name_of(topic_id)

    def _hits(self, fault: MessageFault, message: Message) -> bool:
        count = self._counts[fault.name]
        if fault.times is not None and count.hit >= fault.times:
            return False
        if fault.direction is not None and message.direction != fault.direction:
            return False
        if not fault.matcher.fits(message, self._topic_name_of):
            return False
        if isinstance(fault.action, ReplaceByError) and not can_carry_error(message):
            return False
        count.matched += 1
        if self._number(fault, count, message) < (fault.matcher.nth or 1):
            return False
        count.hit += 1
        if message.is_request:
            message.hit_by += (fault.name,)
        return True

    def _number(self, fault: MessageFault, count: FaultCount, message: Message) -> int:
        """Which of the messages that match it is."""
        if fault.matcher.nth is None or fault.matcher.names_something:
            return count.matched
        key = (fault.name, message.connection)
        number = self._matched_on[key] = self._matched_on.get(key, 0) + 1
        return number

    def _index(self) -> None:
        faults = tuple(self._in_force.values())
        self._asks_for_topics = any(each.matcher.topic is not None for each in faults)
        self._for_any_api = tuple(each for each in faults if not each.matcher.api_keys)
        self._by_api = {
            key: tuple(
                each for each in faults if not each.matcher.api_keys or key in each.matcher.api_keys
            )
            for key in {key: None for each in faults for key in each.matcher.api_keys}
        }


def _each_api(api: Api | Sequence[Api]) -> Sequence[Api]:
    return (api,) if isinstance(api, str | int) else api


def api_named(api: Api) -> ApiKey:
    keys = _api_keys()
    if isinstance(api, str):
        found = keys.get(_plain(api))
        if found is None:
            raise MessageFaultError(f"no api is called {api!r}", hint=_did_you_mean(api))
        return found
    try:
        return ApiKey(api)
    except ValueError:
        raise MessageFaultError(f"no api has the key {api}", hint="try its name") from None


@cache
def _api_keys() -> dict[str, ApiKey]:
    return {_plain(api.name): ApiKey(key) for key, api in sorted(schema().apis.items())}


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _did_you_mean(name: str) -> str:
    by_plain = {_plain(api.name): api.name for api in schema().apis.values()}
    close = difflib.get_close_matches(_plain(name), by_plain, n=3, cutoff=0.5)
    shown = " or ".join(by_plain[each] for each in close)
    return f"did you mean {shown}?" if shown else "try one of Kafka's names, such as EndTxn"


def _check_seconds(what: str, seconds: float) -> None:
    if not (math.isfinite(seconds) and seconds >= 0):
        raise MessageFaultError(f"{what} is {seconds} s", hint="try 0 or more")
