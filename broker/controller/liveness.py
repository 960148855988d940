"""Who contacted the controller when, and how far each broker has followed the metadata.

Times are monotonic seconds. Nothing of it is durable: a new controller knows nobody's last
contact, so it gives every broker a fresh session and fences nobody at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker.metadata.image import Image


@dataclass(slots=True)
class _Contact:
    at_s: float
    needed_end: int  # of the metadata: what it must have applied before it may be unfenced
    applied_end: int = -1  # what it said last
    shutdown_end: int = 0  # what the others must have applied before it may stop


class BrokerLiveness:
    """Ends of the metadata log are exclusive here: the offset after the last record."""

    def __init__(
        self, session_timeout_s: float, image: Image, *, now: float, metadata_end: int
    ) -> None:
        self.session_timeout_s = session_timeout_s
        self._taken_over_end = metadata_end
        self._contacts: dict[int, _Contact] = {}
        for broker_id in image.brokers:
            self._contact(broker_id, now)

    def registered(self, broker_id: int, *, now: float, metadata_end: int) -> None:
        self._contacts[broker_id] = _Contact(now, needed_end=metadata_end)

    def unregistered(self, broker_id: int) -> None:
        self._contacts.pop(broker_id, None)

    def contacted(self, broker_id: int, *, now: float, applied_end: int) -> None:
        contact = self._contact(broker_id, now)
        contact.at_s, contact.applied_end = now, applied_end

    def shutdown_began(self, broker_id: int, *, now: float, metadata_end: int) -> None:
        """`metadata_end` is behind the records that move its leaderships away."""
        self._contact(broker_id, now).shutdown_end = metadata_end

    def has_session(self, broker_id: int, now: float) -> bool:
        contact = self._contacts.get(broker_id)
        return contact is not None and now - contact.at_s < self.session_timeout_s

    def expired(self, image: Image, now: float) -> list[int]:
        """Those to be fenced now, in order."""
        for broker_id in image.brokers:
            self._contact(broker_id, now)
        return [
            broker.broker_id
            for broker in image.brokers_sorted()
            if not broker.fenced and not self.has_session(broker.broker_id, now)
        ]

    def next_expiry_s(self, image: Image) -> float | None:
        """When to look again; None while there is nobody who could expire."""
        times = [
            contact.at_s + self.session_timeout_s
            for broker_id, contact in self._contacts.items()
            if broker_id in image.brokers and not image.brokers[broker_id].fenced
        ]
        return min(times, default=None)

    def is_caught_up(self, broker_id: int) -> bool:
        """Whether it has applied its own registration, and so knows what it is to lead."""
        contact = self._contacts.get(broker_id)
        return contact is not None and contact.applied_end >= contact.needed_end

    def others_know_of_shutdown(self, image: Image, broker_id: int) -> bool:
        """Whether every other broker has applied the changes that moved its leaderships."""
        leaving = self._contacts.get(broker_id)
        needed = self._taken_over_end if leaving is None else leaving.shutdown_end
        return all(
            (contact := self._contacts.get(broker.broker_id)) is not None
            and contact.applied_end >= needed
            for broker in image.brokers_sorted()
            if broker.is_active and broker.broker_id != broker_id
        )

    def _contact(self, broker_id: int, now: float) -> _Contact:
        end = self._taken_over_end
        return self._contacts.setdefault(broker_id, _Contact(now, needed_end=end, shutdown_end=end))
