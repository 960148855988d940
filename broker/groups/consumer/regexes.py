"""Subscriptions by regular expression: resolved against the names of topics, aside of heartbeats.

A heartbeat only asks for a resolution. It is carried out in slices when the machine's clock ticks
next, and its result is stored: a new coordinator goes on with it. All expressions of a group are
resolved together, so that new topics lead to one rebalance.
"""

from __future__ import annotations

import logging
from enum import Enum, auto

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer import group_records
from broker.groups.consumer.around import REGEX
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import Member
from broker.groups.consumer.regex_search import RegexSearch
from broker.groups.consumer.subscriptions import NO_TOPICS, ResolvedRegex
from broker.groups.consumer.topic_regex.automaton import TopicPattern
from broker.groups.consumer.topic_regex.errors import RegexSyntaxError
from broker.protocol.errors import ErrorCode, KafkaError

_log = logging.getLogger(__name__)

REFRESH_INTERVAL_MIN_S = 10.0
"""A group's expressions are not resolved more often, even if topics appear all the time."""

_SLICES_APART_S = 0.001
"""Lets the loop do something else in between."""


class RegexChange(Enum):
    NONE = auto()
    TO_UNRESOLVED = auto()
    """What the new expression matches is not known yet."""
    TO_RESOLVED = auto()


def change_of(
    group: ConsumerGroup, before: Member, after: Member
) -> tuple[RegexChange, list[CoordinatorRecord]]:
    """What a member's new expression means. Raises KafkaError if it is not valid."""
    new = after.topic_regex or ""
    if (before.topic_regex or "") == new:
        return RegexChange.NONE, []
    subscriptions = group.state.subscriptions
    records = [
        group_records.no_regex(group.group_id, each) for each in dropped_by(group, before, after)
    ]
    if not new:
        return RegexChange.TO_RESOLVED, records
    if subscriptions.members_with(new):
        is_known = new in subscriptions.resolved
        return RegexChange.TO_RESOLVED if is_known else RegexChange.TO_UNRESOLVED, records
    try:
        TopicPattern(new)
    except RegexSyntaxError as problem:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{new}` is not a valid regular expression: {problem}",
        ) from None
    return RegexChange.TO_UNRESOLVED, records


def dropped_by(group: ConsumerGroup, before: Member, after: Member) -> list[str]:
    """The expression that nobody uses any more when this member has changed."""
    old = before.topic_regex
    if not old or old == after.topic_regex or group.state.subscriptions.members_with(old) != 1:
        return []
    return [old]


def refresh_if_needed(group: ConsumerGroup, member: Member, now: Now) -> None:
    """Asks for a resolution if an expression is unknown, topics are new, or the last is old."""
    subscriptions = group.state.subscriptions
    new = member.topic_regex
    brings_new = bool(new) and not subscriptions.members_with(new or "")
    if not brings_new and not subscriptions.regexes:
        return
    key = (REGEX, group.group_id)
    if key in group.around.deadlines:
        return
    interval_s = group.around.settings.group_consumer_regex_refresh_interval_ms / 1000
    last_s = group.regexes_resolved_s
    if last_s is not None:
        age_s = now.loop_s - last_s
        is_needed = brings_new or subscriptions.unresolved or group.regexes_are_stale
        if age_s < REFRESH_INTERVAL_MIN_S or not (is_needed or age_s > interval_s):
            return
    group.around.deadlines.set(key, now.loop_s)


def resolve_slice(group: ConsumerGroup, now: Now) -> list[CoordinatorRecord]:
    """Goes on with the resolution that was asked for; the records when it is done."""
    search = group.regex_search
    if search is None:
        wanted, topics = group.state.subscriptions.regexes, group.around.topics
        if not wanted:
            return []  # the member that asked for it has left since
        group.regexes_are_stale = False
        search = RegexSearch(wanted, topics.names(), topics.version, now.wall_ms)
    if not search.go_on():
        group.regex_search = search
        group.around.deadlines.set((REGEX, group.group_id), now.loop_s + _SLICES_APART_S)
        return []
    group.regex_search = None
    group.regexes_resolved_s = now.loop_s
    return _resolved(group, search.found())


def _resolved(group: ConsumerGroup, found: dict[str, ResolvedRegex]) -> list[CoordinatorRecord]:
    state = group.state
    found = {regex: it for regex, it in found.items() if state.subscriptions.members_with(regex)}
    records = [group_records.regex(group.group_id, regex, it) for regex, it in found.items()]
    known = state.subscriptions.resolved
    changed = any(known.get(regex, NO_TOPICS).topics != it.topics for regex, it in found.items())
    names = state.subscriptions.names_after(resolved=found)
    hashed = state.metadata_hash
    if names is not None or group.needs_metadata_check:
        hashed = group.around.hashes.of(state.subscriptions.names if names is None else names)
    if changed or hashed != state.metadata_hash:
        epoch = state.epoch + 1
        records.append(group_records.group_epoch(group.group_id, epoch, hashed))
        group.metadata_checked(epoch)
    return records
