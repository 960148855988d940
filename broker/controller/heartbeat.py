"""Answers a broker's heartbeat: fence it, unfence it, or let it go."""

from __future__ import annotations

from dataclasses import dataclass

from broker.controller.broker_events import (
    begin_controlled_shutdown,
    change_offline_directories,
    current_broker,
    fence_brokers,
    unfence_broker,
)
from broker.controller.liveness import BrokerLiveness
from broker.controller.partition_scan import leads_anything
from broker.controller.topic_rules import RulesOf
from broker.metadata.broker_info import BrokerInfo
from broker.metadata.changes import Change
from broker.metadata.image import Image


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    broker_id: int
    broker_epoch: int
    applied_end: int  # the offset after the last metadata record that it has applied
    want_fence: bool = False
    want_shut_down: bool = False
    offline_dirs: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswer:
    """True once the changes are made."""

    changes: list[Change]
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


def answer_heartbeat(
    image: Image,
    liveness: BrokerLiveness,
    beat: Heartbeat,
    *,
    now: float,
    metadata_end: int,
    rules_of: RulesOf,
) -> HeartbeatAnswer:
    """Raises KafkaError(STALE_BROKER_EPOCH). The broker's session begins anew."""
    broker = current_broker(image, beat.broker_id, beat.broker_epoch)
    liveness.contacted(broker.broker_id, now=now, applied_end=beat.applied_end)
    is_fenced, should_shut_down = _next(image, liveness, broker, beat)
    changes: list[Change] = []
    offline = tuple(each for each in sorted(set(beat.offline_dirs)) if each in broker.log_dirs)
    if offline != broker.offline_dirs:
        # Before it is let in. Whatever else it wants, it asks for again soon.
        changes = change_offline_directories(image, broker.broker_id, offline, rules_of)
        is_fenced, should_shut_down = broker.fenced, False
    elif is_fenced and not broker.fenced:
        changes = fence_brokers(image, [broker.broker_id], rules_of)
    elif broker.fenced and not is_fenced:
        changes = unfence_broker(image, broker.broker_id, rules_of)
    elif beat.want_shut_down and broker.is_active:
        changes = begin_controlled_shutdown(image, broker.broker_id, rules_of)
        liveness.shutdown_began(broker.broker_id, now=now, metadata_end=metadata_end + len(changes))
    return HeartbeatAnswer(
        changes=changes,
        is_caught_up=liveness.is_caught_up(broker.broker_id),
        is_fenced=is_fenced,
        should_shut_down=should_shut_down,
    )


def _next(
    image: Image, liveness: BrokerLiveness, broker: BrokerInfo, beat: Heartbeat
) -> tuple[bool, bool]:
    """Whether it is to be fenced, and whether it may stop."""
    if broker.fenced:
        is_ready = liveness.is_caught_up(broker.broker_id) and not broker.in_controlled_shutdown
        return not is_ready or beat.want_fence or beat.want_shut_down, beat.want_shut_down
    if beat.want_fence:
        return True, beat.want_shut_down
    if not beat.want_shut_down or leads_anything(image, broker.broker_id):
        return False, False
    # Whoever leads nothing may stop; but the others shall know first who leads instead.
    may_stop = not broker.in_controlled_shutdown or liveness.others_know_of_shutdown(
        image, broker.broker_id
    )
    return may_stop, may_stop
