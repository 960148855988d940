"""The requests and replies of one connection: what a frame is, which reply answers what.

Read from the first bytes of a frame, for the trace and for the message faults. Only when there
are message faults is more of a message decoded.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from struct import Struct

from harness.sim.parcels import Parcel
from harness.sim.trace import ABSENT, Trace
from harness.wire.match import Action, Delay, Drop, Duplicate, MessageFaults, ReplaceByError
from harness.wire.message import Message, name_of_api, with_length
from harness.wire.tracker import ConnectionTracker

_read_request = Struct(">xxxxhhi").unpack_from  # length, api key, version, correlation id
_read_reply = Struct(">xxxxi").unpack_from
_SMALLEST_REQUEST = 12
_API_KEY_MAX = 100
_LENGTH_SIZE = 4
_HELD = "Fetch"
"""Answered when there is something to tell, or when its time is up."""

UNANSWERED_MAX = 1000
"""A producer that wants no acknowledgements leaves every request unanswered."""


@dataclass(slots=True)
class Asked:
    api: str
    correlation_id: int
    row: int = 0
    """Of the request's delivery."""


class Conversation:
    def __init__(
        self,
        trace: Trace,
        connection: str,
        *,
        client: str,
        server: str,
        faults: MessageFaults | None,
    ) -> None:
        self.connection = connection
        self._client = client
        self._server = server
        self._trace = trace
        self._asked: deque[Asked] = deque()
        self._faults = faults
        self._tracker = (
            None
            if faults is None
            else ConnectionTracker(connection=connection, client=client, server=server)
        )

    def request_sent(self, parcel: Parcel) -> None:
        data = parcel.data
        if parcel.is_frame and len(data) >= _SMALLEST_REQUEST:
            key, _, correlation_id = _read_request(data)
            if 0 <= key < _API_KEY_MAX:
                parcel.asked = Asked(name_of_api(key), correlation_id)
                parcel.api, parcel.correlation_id = parcel.asked.api, correlation_id
        parcel.row = self._trace.emit(
            "send", self._client, self.connection, parcel.api, parcel.correlation_id
        )
        if self._tracker is not None and parcel.is_frame:
            self._meddle(parcel, self._tracker.request(bytes(data[_LENGTH_SIZE:])))

    def request_delivered(self, parcel: Parcel, row: int) -> None:
        if parcel.asked is not None:
            asked = self._asked
            asked.append(Asked(parcel.api, parcel.correlation_id, row))
            if len(asked) > UNANSWERED_MAX:
                asked.popleft()

    def reply_sent(self, parcel: Parcel) -> None:
        """Its cause is its request's delivery, whatever else woke the one who answers.

        Not so for a fetch: there it is of interest which append, or what else, ended the wait.
        """
        cause = None
        if parcel.is_frame:
            [correlation_id] = _read_reply(parcel.data)
            answered = self._answered(correlation_id)
            if answered is not None:
                parcel.api, parcel.correlation_id = answered.api, correlation_id
                cause = None if answered.api == _HELD else answered.row
        parcel.row = self._trace.emit(
            "send", self._server, self.connection, parcel.api, parcel.correlation_id, cause=cause
        )
        if self._tracker is not None and parcel.is_frame:
            message = self._tracker.reply(bytes(parcel.data[_LENGTH_SIZE:]))
            if message.is_surplus:
                self._drop(parcel, self._server, "the reply to a copy")
            else:
                self._meddle(parcel, message)

    def _answered(self, correlation_id: int) -> Asked | None:
        """Replies come in the order of their requests, so what was passed over has none."""
        asked = self._asked
        for count, each in enumerate(asked):
            if each.correlation_id == correlation_id:
                for _ in range(count + 1):
                    asked.popleft()
                return each
        return None

    def _meddle(self, parcel: Parcel, message: Message) -> None:
        assert self._faults is not None
        actions = self._faults.decide(message)
        dropped = next((each for each in actions if isinstance(each, Drop)), None)
        for action in (dropped,) if dropped is not None else actions:
            self._carry_out(action, parcel, message)

    def _carry_out(self, action: Action, parcel: Parcel, message: Message) -> None:
        match action:
            case Drop():
                parcel.breaks_stream = True
                self._drop(parcel, message.source, "message fault")
            case Delay(seconds=seconds):
                parcel.delay_ns += int(seconds * 1e9)
                self.tell("delay", parcel, message.source, f"{seconds} s")
            case Duplicate(after_s=after_s):
                assert self._tracker is not None
                self._tracker.copied(message)
                row = self.tell("duplicate", parcel, message.source, f"after {after_s} s")
                parcel.copies.append((int(after_s * 1e9), parcel.copy(row)))
            case ReplaceByError(code=code):
                parcel.data = with_length(action.replaced(message))
                self.tell("error_reply", parcel, message.source, code.name)

    def _drop(self, parcel: Parcel, node: str, why: str) -> None:
        parcel.is_dropped = True
        self.tell("drop", parcel, node, why)

    def tell(self, kind: str, parcel: Parcel, node: str, detail: str) -> int:
        """A row about the parcel, caused by its sending."""
        correlation_id = parcel.correlation_id if parcel.api else ABSENT
        return self._trace.emit(
            kind, node, self.connection, parcel.api, correlation_id, detail=detail, cause=parcel.row
        )
