"""What a library does as a transactional producer, and no more; the rest is transactions.py.

The driver of a transactional client keeps a second producer for its transactions: `Driver.produce`
stays what it was, outside of any transaction. The methods below are called in the order of Kafka's
own producer: init, then any number of begin, sends and offsets, commit or abort.

Errors. A method that fails raises TransactionError. Two questions decide what the caller does, and
both are answered as data:

* What can the producer do next (`recovery`)? `retry`: call the same method again, nothing was
  decided yet. `abort`: only `abort_transaction` will do, then the producer goes on. `close`: the
  producer is fenced or otherwise beyond use, and has to be replaced.
* Can the step have taken effect (`harmless`)? True only if no request of the step left the client,
  or if each that did was refused. For a commit this is the whole difference: a commit that failed
  harmlessly is certainly none, any other may have been committed, now or later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from harness.client.driver import DriverError, Stored, ToStore

Recovery = Literal["retry", "abort", "close"]

FENCED = frozenset(
    {
        "PRODUCER_FENCED",
        "INVALID_PRODUCER_EPOCH",
        "TRANSACTION_COORDINATOR_FENCED",
        "_FENCED",
    }
)
"""Names of errors by which a producer learns that another one has taken its transactional id, or
that the coordinator has ended its transaction because the time was up."""


class TransactionError(DriverError):
    """`name` as in DriverError: Kafka's, or the library's own."""

    def __init__(
        self, name: str, message: str = "", *, recovery: Recovery, harmless: bool = False
    ) -> None:
        super().__init__(name, message, harmless=harmless)
        self.recovery = recovery

    @property
    def is_fencing(self) -> bool:
        return self.name in FENCED


class ProducerIdentity(NamedTuple):
    """Who a transactional producer is to the brokers; None where the library does not tell."""

    producer_id: int | None = None
    epoch: int | None = None
    protocol: Literal[1, 2] | None = None
    """1: the classic protocol; an epoch lasts for many transactions, and a delayed request may hit
    a later one (KAFKA-17754). 2: the epoch is bumped with every transaction (KIP-890)."""


@runtime_checkable
class TransactionDriver(Protocol):
    """A driver whose library has a transactional producer."""

    async def init_transactions(self, transactional_id: str, timeout_ms: int) -> None:
        """Makes the transactional producer, or makes it anew, and fences all earlier ones of this
        id. `timeout_ms` is transaction.timeout.ms: when it is up, the coordinator aborts."""
        ...

    async def fence(self, transactional_id: str, timeout_ms: int) -> None:
        """Fences the producers of this id by a producer that is closed at once. Used with the id
        of another client."""
        ...

    def producer_identity(self) -> ProducerIdentity:
        """As far as it is known at this moment."""
        ...

    async def begin_transaction(self) -> None: ...

    async def produce_in_transaction(
        self, records: Sequence[ToStore]
    ) -> list[Stored | DriverError]:
        """Same as `Driver.produce`, in the transaction. Raises nothing. If a record has no
        acknowledgement, `commit_transaction` would fail: the caller aborts."""
        ...

    async def send_offsets(self, offsets: Mapping[str, int]) -> None:
        """Adds offsets of the group that this driver is a member of (GroupDriver) to the
        transaction, with the member's generation as fencing where the library sends it (KIP-447).
        """
        ...

    async def commit_transaction(self) -> None:
        """Returns when the coordinator has decided to commit. With `recovery="retry"` it may be
        called again, to go on with the same commit."""
        ...

    async def abort_transaction(self) -> None:
        """Returns when the coordinator has decided to abort. An abort that fails leaves the end of
        the transaction to the coordinator, by time-out or by the next init: it is never a commit,
        unless a commit was tried before."""
        ...
