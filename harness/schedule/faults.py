"""Faults of machines and links as data: what breaks, when, and for how long.

A fault and its end are one entry, so that taking it out of a schedule takes out both. `for_ms` of
None means for ever. Faults may overlap: a node is up again when the last of its outages has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CLIENTS = "clients"
"""What links call the host of all clients, where they have one together."""

Links = tuple[tuple[str, str], ...]
"""One-way: ("n1", "n2") is the way from n1 to n2 and not back."""

Replicas = tuple[tuple[str, str], ...]
"""Of partitions: ("t-0", "n1 n2 n3"), the preferred leader first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    name: str
    at_ms: float
    for_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill(Fault):
    """The process is gone; what it wrote stays in the page cache. It is started again later."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLoss(Fault):
    """What was not synced is gone, or with `torn` some of it, in some shape."""

    node: str
    torn: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(Fault):
    """The process is asked to end, as by SIGTERM, and is started again when it has."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Fault):
    """The process stands still, as after SIGSTOP. Its kernel goes on taking bytes."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KillClient(Fault):
    """The process of this client is gone. Another one takes its place later."""

    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseClient(Fault):
    """The process of this client stands still, as after SIGSTOP."""

    client: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleClient(Fault):
    """This client begins no operation: it does not poll, while its library goes on in the
    background. With `leaves` it leaves its consumer group before, and joins again at the end."""

    client: str
    leaves: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(Fault):
    links: Links


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowLinks(Fault):
    """Each message takes `factor` times its time and `extra_ms` more, at this rate at most."""

    links: Links
    extra_ms: float = 0.0
    factor: float = 1.0
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeLinks(Fault):
    """What befalls the packets of these links; shares are between 0 and 1."""

    links: Links
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJump(Fault):
    """By so much at once, and back again at the fault's end."""

    node: str
    by_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSkew(Fault):
    """The wall clock runs at this rate; 1.0 is true time."""

    node: str
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStrobe(Fault):
    """The wall clock jumps there, and back again, each after `period_ms`."""

    node: str
    by_ms: float
    period_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFull(Fault):
    node: str
    spare_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSlow(Fault):
    """`operation` and `path` are shell patterns, as for DiskError."""

    node: str
    extra_ms: float
    operation: str = "*"
    path: str = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskError(Fault):
    node: str
    error: str = "EIO"
    operation: str = "*"
    path: str = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskReadOnly(Fault):
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BitFlip(Fault):
    """The node is killed, one bit that it has stored is flipped, and it is started again."""

    node: str
    draw: float
    """In [0, 1): which bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedTail(Fault):
    """The node is stopped, a log loses its end with the host off, and it is started again."""

    node: str
    draw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart(Fault):
    """Stopped cleanly and started again, one after the other."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveLeader(Fault):
    """The partition gets this order of its replicas, and is led by the first."""

    topic: str
    partition: int
    replicas: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLeaves(Fault):
    """Its replicas move from `before` to `after`, and it is stopped; both are undone at the end."""

    node: str
    before: Replicas
    after: Replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactNow(Fault):
    """The topic's segments are rolled and compacted at once."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords(Fault):
    """Everything below these offsets, by partition."""

    topic: str
    before: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TamperMessages(Fault):
    """A message fault for a time; match, action and times are those of `message_faults`."""

    match: Mapping[str, Any]
    action: Mapping[str, Any]
    times: int | None = 1


FAULTS: dict[str, type[Fault]] = {
    "kill": Kill,
    "power_loss": PowerLoss,
    "stop": Stop,
    "pause": Pause,
    "cut": Cut,
    "slow_links": SlowLinks,
    "shape_links": ShapeLinks,
    "clock_jump": ClockJump,
    "clock_skew": ClockSkew,
    "clock_strobe": ClockStrobe,
    "disk_full": DiskFull,
    "disk_slow": DiskSlow,
    "disk_error": DiskError,
    "disk_read_only": DiskReadOnly,
    "bit_flip": BitFlip,
    "truncated_tail": TruncatedTail,
    "rolling_restart": RollingRestart,
    "move_leader": MoveLeader,
    "broker_leaves": BrokerLeaves,
    "compact_now": CompactNow,
    "delete_records": DeleteRecords,
    "tamper_messages": TamperMessages,
    "kill_client": KillClient,
    "pause_client": PauseClient,
    "idle_client": IdleClient,
}
"""By the word in a schedule file."""


def kind_of(fault: Fault) -> str:
    return next(kind for kind, each in FAULTS.items() if each is type(fault))


def both_ways(*pairs: tuple[str, str]) -> Links:
    return tuple(link for here, there in pairs for link in ((here, there), (there, here)))
