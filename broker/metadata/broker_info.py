"""What the cluster knows of one broker. Pure."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN_BROKER_EPOCH = -1
"""Of a life that is not known, or does not say."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    name: str  # of the listener
    host: str
    port: int
    protocol: int = 0  # Kafka's number; 0 is PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerInfo:
    broker_id: int
    incarnation_id: bytes  # drawn at each start of the process
    broker_epoch: int  # given to each incarnation; only grows
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    log_dirs: tuple[bytes, ...] = ()  # their ids
    offline_dirs: tuple[bytes, ...] = ()  # those of them that have failed, sorted
    fenced: bool = True
    in_controlled_shutdown: bool = False
    unharmed_since: int = UNKNOWN_BROKER_EPOCH
    """Epoch of the last life that was let in, whose logs this life has whole; -1 if it may not.

    Nothing was ever promised on account of a life that was not let in, so a broker that comes back
    with the epoch before such a life has lost nothing that counts."""

    @property
    def is_active(self) -> bool:
        """Whether it may lead, and may come into an ISR."""
        return not self.fenced and not self.in_controlled_shutdown

    def has_online(self, directory: bytes | None) -> bool:
        """Whether a replica there can be used. None: nobody said so far in which one it lies."""
        if directory is not None:
            return directory in self.log_dirs and directory not in self.offline_dirs
        return not self.log_dirs or len(self.offline_dirs) < len(self.log_dirs)
