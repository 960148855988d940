"""One consumer group: its lasting state, its timers, and what other parts of the broker may ask."""

from __future__ import annotations

from broker.coordination.step import CoordinatorRecord, Now
from broker.groups.consumer import group_records
from broker.groups.consumer.around import JOIN, KINDS, REBALANCE, SESSION, SYNC, Around
from broker.groups.consumer.group_state import GroupState
from broker.groups.consumer.member import Member, MemberState
from broker.groups.consumer.regex_search import RegexSearch
from broker.groups.consumer.seen import seen_group
from broker.groups.group import GroupKind
from broker.groups.seen import SeenGroup
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode

_FIRST_COMMIT_VERSION_WITH_EPOCHS = 9


class ConsumerGroup:
    """Implements `groups.group.Group`."""

    kind = GroupKind.CONSUMER
    protocol_type: str | None = "consumer"

    def __init__(self, group_id: str, around: Around) -> None:
        self.group_id = group_id
        self.around = around
        self.state = GroupState(group_id)
        self.regex_search: RegexSearch | None = None
        """The resolution of regular expressions that is under way."""
        self.regexes_resolved_s: float | None = None
        """When this coordinator resolved them last."""
        self.regexes_are_stale = False
        """Whether topics have appeared since."""
        self._metadata_checked_epoch: int | None = None
        self._rebalance_epochs: dict[str, int] = {}

    @property
    def state_name(self) -> str:
        state = self.state
        if not state.members:
            return "Empty"
        if state.epoch > state.assignment_epoch:
            return "Assigning"
        return "Stable" if state.is_reconciled else "Reconciling"

    # Offsets

    def check_commit(
        self,
        member_id: str,
        instance_id: str | None,
        generation_or_epoch: int,
        is_transactional: bool,
        version: int,
    ) -> ErrorCode:
        if generation_or_epoch < 0 and not self.state.members:
            return ErrorCode.NONE
        is_anonymous = generation_or_epoch == -1 and not member_id and instance_id is None
        if is_transactional and is_anonymous:
            return ErrorCode.NONE
        member = self.state.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        is_too_old = not is_transactional and version < _FIRST_COMMIT_VERSION_WITH_EPOCHS
        if is_too_old and not member.uses_classic_protocol:
            return ErrorCode.UNSUPPORTED_VERSION
        return _wrong_epoch(member) if generation_or_epoch > member.epoch else ErrorCode.NONE

    def check_commit_to(
        self, member_id: str, generation_or_epoch: int, topic: str, partition: int
    ) -> ErrorCode:
        """A commit that was sent before the member's last epoch is as good as one that came before
        it, if the partition has been the member's own since (KIP-1251)."""
        member = self.state.members.get(member_id)
        if member is None or generation_or_epoch == member.epoch:
            return ErrorCode.NONE
        topic_id = self.around.topics.topic_id(topic) or b""
        held = {**member.revoking.get(topic_id, {}), **member.assigned.get(topic_id, {})}
        is_own = partition in held and held[partition] <= generation_or_epoch
        return ErrorCode.NONE if is_own else _wrong_epoch(member)

    def commit_seen(self, member_id: str, now: Now) -> None:
        """Only heartbeats keep a session of this protocol alive."""

    def check_fetch(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        if member_id is None and member_epoch < 0:
            return ErrorCode.NONE
        member = self.state.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_epoch == member.epoch else _wrong_epoch(member)

    def check_offset_delete(self) -> ErrorCode:
        """Subscriptions are always known."""
        return ErrorCode.NONE

    def is_subscribed_to(self, topic: str) -> bool:
        subscriptions = self.state.subscriptions
        return topic in subscriptions or subscriptions.unresolved

    def offsets_expire_from_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    # The whole group

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NON_EMPTY_GROUP if self.state.members else ErrorCode.NONE

    def seen(self) -> SeenGroup:
        return seen_group(self)

    def described(self) -> m.DescribeGroupsResponseDescribedGroup | None:
        return None

    def tombstones(self) -> list[CoordinatorRecord]:
        """The order is Kafka's, whose loader insists on it."""
        group_id, state = self.group_id, self.state
        member_ids = list(state.members)
        return [
            *(group_records.no_current(group_id, each) for each in member_ids),
            *(group_records.no_target(group_id, each) for each in member_ids),
            group_records.no_target_epoch(group_id),
            *(group_records.no_subscription(group_id, each) for each in member_ids),
            *(
                group_records.no_regex(group_id, each)
                for each in sorted(state.subscriptions.resolved)
            ),
            group_records.no_partition_metadata(group_id),
            group_records.no_group(group_id),
        ]

    # The metadata of topics

    def request_metadata_check(self) -> None:
        """A topic has changed: the next heartbeat compares the hash."""
        self._metadata_checked_epoch = None

    @property
    def needs_metadata_check(self) -> bool:
        """Also if the epoch that the last check began was never written."""
        checked = self._metadata_checked_epoch
        return checked is None or self.state.epoch < checked

    def metadata_checked(self, epoch: int) -> None:
        self._metadata_checked_epoch = epoch

    # Timers

    def expect_heartbeat(self, member: Member, now: Now) -> None:
        settings = self.around.settings
        classic = member.classic
        timeout_ms = (
            classic.session_timeout_ms if classic else settings.group_consumer_session_timeout_ms
        )
        self._set(SESSION, member.member_id, timeout_ms, now)

    def expect_revocation(self, member: Member, now: Now) -> None:
        """The member has to confirm what it gives up within its rebalance time-out."""
        self._rebalance_epochs[member.member_id] = member.epoch
        self._set(REBALANCE, member.member_id, member.rebalance_timeout_ms, now)

    def expect_join(self, member: Member, now: Now) -> None:
        """A member of the classic protocol has to join again. The first request to do so counts."""
        key = (JOIN, self.group_id, member.member_id)
        if key not in self.around.deadlines:
            self._set(JOIN, member.member_id, member.rebalance_timeout_ms, now)

    def expect_sync(self, member: Member, now: Now) -> None:
        self._set(SYNC, member.member_id, member.rebalance_timeout_ms, now)

    def expect_no_more(self, kind: str, member_id: str) -> None:
        self.around.deadlines.cancel((kind, self.group_id, member_id))

    def cancel_timers(self, member_id: str) -> None:
        """The member is gone. Not before that: a removal that cannot be written is tried again."""
        self._rebalance_epochs.pop(member_id, None)
        for kind in KINDS:
            self.expect_no_more(kind, member_id)

    def missed_its_revocation(self, member: Member) -> bool:
        """Whether the member is still in the step that its rebalance time-out was set for."""
        is_revoking = member.state is MemberState.UNREVOKED_PARTITIONS
        return is_revoking and self._rebalance_epochs.get(member.member_id) == member.epoch

    def loaded(self, now: Now) -> None:
        """This node has become the coordinator: every member has a whole session to find it."""
        for member in self.state.members.values():
            self.expect_heartbeat(member, now)
            is_revoking = member.state is MemberState.UNREVOKED_PARTITIONS
            if is_revoking and not member.uses_classic_protocol:
                self.expect_revocation(member, now)

    def _set(self, kind: str, member_id: str, after_ms: int, now: Now) -> None:
        self.around.deadlines.set((kind, self.group_id, member_id), now.loop_s + after_ms / 1000)


def _wrong_epoch(member: Member) -> ErrorCode:
    if member.uses_classic_protocol:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH
