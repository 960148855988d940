"""late-end: one producer that commits and aborts in turn, for a commit request that arrives late.

    harness test --plugin docs/examples/late_end_txn.py -w late-end --client native \\
        --protocol-versions EndTxn=4 --schedule docs/examples/late-end-txn.json --time-limit 20

The schedule delays one EndTxn request, a commit. The client gives it up after 2 s and sends it
again, which succeeds. The first one arrives while the producer is in its next transaction, which it
will abort. Under the classic protocol of transactions both have the same epoch, so the late request
commits that one (KAFKA-17754): readers see records of a transaction that its producer aborted, and
the contract allows it. Without --protocol-versions the client speaks protocol 2. The same late
commit has the epoch of a transaction that is over, and the coordinator refuses it. The row
`answered-wire` of the history shows how the late request was answered: NONE or PRODUCER_FENCED.
"""

from collections.abc import Sequence

from harness.client.base import Batching, Invocation
from harness.client.payload import value_of
from harness.cluster.base import NewTopic
from harness.cluster.parts import NO_PARTS
from harness.registry import Registry
from workloads.base import Load
from workloads.logs import LOG_CHECKERS, POLL, Logs
from workloads.producers import Producers

PAUSE_MS = 2_000
"""How long a transaction that will be aborted stays open: the late request arrives meanwhile."""
TIMEOUT_MS = 30_000
"""So long that the coordinator aborts nothing by itself."""
RECORDS = 2


class LateEnd:
    """One client commits and aborts transactions in turn, the others send and poll."""

    name = "late-end"
    consistency = "transactions: atomic, read committed"
    is_polled = True
    needs = NO_PARTS
    checkers: tuple[str, ...] = (*LOG_CHECKERS, "torn-transaction", "hanging-transaction")

    def __init__(self, load: Load) -> None:
        self._logs = Logs(load, ("late",), partitions=RECORDS)
        self._producers = Producers(load, self.name)

    @property
    def transactional_ids(self) -> Sequence[str]:
        return self._producers.ids[:1]

    @property
    def expiry_ms(self) -> int:
        return TIMEOUT_MS

    @property
    def topics(self) -> Sequence[NewTopic]:
        return self._logs.topics

    def batching(self, client: int) -> Batching:
        return self._logs.batching(client)

    def opening(self, client: int, process: int) -> Sequence[Invocation]:
        if client == 0:
            value = {"id": self._producers.id_of(client), "timeout-ms": TIMEOUT_MS}
            return (Invocation("init-transactions", value),)
        return (Invocation("assign", list(self._logs.keys)),)

    def operation(self, client: int, ordinal: int) -> Invocation:
        if client:
            return POLL if ordinal % 2 else self._logs.send(client, ordinal)
        sends = [
            ["send", key, value_of(client, ordinal * RECORDS + at)]
            for at, key in enumerate(self._logs.keys)
        ]
        ending = [["pause", PAUSE_MS], ["abort"]] if ordinal % 2 else []
        return Invocation("txn", [*sends, *ending])

    def write(self, client: int, ordinal: int, key: str) -> Invocation:
        return Invocation("send", [["send", key, value_of(client, ordinal * RECORDS)]])

    def drained_keys(self, client: int) -> Sequence[str]:
        return self._logs.drained_keys(client)

    def closing(self, client: int, ordinal: int) -> Sequence[Invocation]:
        return ()


def register(registry: Registry) -> None:
    registry.workload(LateEnd.name, LateEnd)
