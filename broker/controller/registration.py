"""Registers brokers: one incarnation per id, with an epoch that no other ever had."""

from __future__ import annotations

from dataclasses import dataclass, replace

from broker.controller.broker_events import partitions_without
from broker.controller.liveness import BrokerLiveness
from broker.controller.topic_rules import RulesOf
from broker.metadata.broker_info import UNKNOWN_BROKER_EPOCH, BrokerInfo, Endpoint
from broker.metadata.changes import BrokerRegistered, Change
from broker.metadata.image import Image
from broker.protocol.errors import ErrorCode, KafkaError


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    broker_id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    log_dirs: tuple[bytes, ...] = ()
    previous_broker_epoch: int = UNKNOWN_BROKER_EPOCH  # of the life before in the same directory
    is_unharmed: bool = True
    """Whether nothing that it wrote can have been lost since."""


@dataclass(frozen=True, slots=True)
class Registered:
    broker_epoch: int
    changes: list[Change]


def register_broker(
    image: Image,
    liveness: BrokerLiveness,
    wanted: Registration,
    *,
    now: float,
    metadata_end: int,
    rules_of: RulesOf,
) -> Registered:
    """Raises KafkaError. The same incarnation may ask again, and is given the same epoch.

    A new incarnation begins fenced. If it does not know the epoch of the last life that was let in,
    it may have lost what that one had not flushed, so it is eligible for nothing (R07). A life that
    registered and was never let in may have ended before it noted its epoch: nobody counted on it,
    so the epoch before it is as good. Nor is a broker eligible for what lies in a directory that it
    does not name any more: it may begin there with an empty log.
    """
    if not wanted.endpoints:
        raise KafkaError(
            ErrorCode.INVALID_REGISTRATION, f"broker {wanted.broker_id} names no endpoint"
        )
    known = image.brokers.get(wanted.broker_id)
    if known is not None and known.incarnation_id == wanted.incarnation_id:
        again = replace(
            _record(wanted, known.broker_epoch, known.fenced, known.in_controlled_shutdown),
            offline_dirs=known.offline_dirs,
            unharmed_since=known.unharmed_since,
        )
        changes: list[Change] = [] if _says_the_same(known, again) else [again]
    else:
        _check_nobody_else(known, liveness, wanted, now)
        was_clean = known is not None and _has_all_logs(known, wanted)
        left = partitions_without(
            image,
            [wanted.broker_id],
            rules_of,
            unclean=not was_clean,
            log_dirs=wanted.log_dirs,
        )
        again = replace(
            _record(wanted, image.next_broker_epoch, fenced=True, in_shutdown=False),
            unharmed_since=wanted.previous_broker_epoch if was_clean else UNKNOWN_BROKER_EPOCH,
        )
        changes = [*left, again]
        liveness.registered(wanted.broker_id, now=now, metadata_end=metadata_end + len(changes))
    return Registered(again.broker_epoch, changes)


def _has_all_logs(known: BrokerInfo, wanted: Registration) -> bool:
    previous = wanted.previous_broker_epoch
    is_known = previous != UNKNOWN_BROKER_EPOCH and wanted.is_unharmed
    return is_known and previous in (known.broker_epoch, known.unharmed_since)


def _check_nobody_else(
    known: BrokerInfo | None, liveness: BrokerLiveness, wanted: Registration, now: float
) -> None:
    if known is None or not known.is_active or not liveness.has_session(known.broker_id, now):
        return
    if known.broker_epoch == wanted.previous_broker_epoch:
        # Only who holds that life's data directory knows its epoch, and one process can hold it.
        return
    raise KafkaError(
        ErrorCode.DUPLICATE_BROKER_REGISTRATION,
        f"another broker {wanted.broker_id} is alive; if it was this one before a restart, "
        f"its session ends within {liveness.session_timeout_s:g} s",
    )


def _record(
    wanted: Registration, broker_epoch: int, fenced: bool, in_shutdown: bool
) -> BrokerRegistered:
    return BrokerRegistered(
        wanted.broker_id,
        wanted.incarnation_id,
        broker_epoch,
        wanted.endpoints,
        wanted.rack,
        wanted.log_dirs,
        fenced,
        in_shutdown,
    )


def _says_the_same(known: BrokerInfo, again: BrokerRegistered) -> bool:
    return (known.endpoints, known.rack, known.log_dirs) == (
        again.endpoints,
        again.rack,
        again.log_dirs,
    )
