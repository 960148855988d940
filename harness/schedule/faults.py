"""Faults of machines and links as data: what breaks, when, and for how long.

A fault and its end are one entry, so that taking it out of a schedule takes out both. `for_ms` of
None means for ever. Faults may overlap: a node is up again when the last of its outages has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

Links = tuple[tuple[str, str], ...]
"""One-way: ("n1", "n2") is the way from n1 to n2 and not back."""


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
class Pause(Fault):
    """The process stands still, as after SIGSTOP. Its kernel goes on taking bytes."""

    node: str


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


FAULTS: dict[str, type[Fault]] = {
    "kill": Kill,
    "power_loss": PowerLoss,
    "pause": Pause,
    "cut": Cut,
    "slow_links": SlowLinks,
    "clock_jump": ClockJump,
    "clock_skew": ClockSkew,
    "disk_full": DiskFull,
    "disk_slow": DiskSlow,
    "disk_error": DiskError,
}
"""By the word in a schedule file."""


def kind_of(fault: Fault) -> str:
    return next(kind for kind, each in FAULTS.items() if each is type(fault))


def both_ways(*pairs: tuple[str, str]) -> Links:
    return tuple(link for here, there in pairs for link in ((here, there), (there, here)))
