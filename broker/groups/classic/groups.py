"""All classic groups of one coordinator: finds the group of a request, a timer or a record."""

from __future__ import annotations

from broker.coordination.step import CoordinatorRecord, Now, Step, Ticket, in_turn, reply
from broker.groups.classic import answers, joining, leaving, rebalance, sessions, syncing, timers
from broker.groups.classic.context import ClassicContext
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.joining import Joiner
from broker.groups.group import Group, GroupClient
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode, KafkaError


class ClassicGroups:
    """`groups` holds those of other protocols, too. They are not touched here.

    `simple` holds groups that exist without a state of their own, by their offsets.
    """

    def __init__(
        self, groups: dict[str, Group], simple: dict[str, None], context: ClassicContext
    ) -> None:
        self.context = context
        self._groups = groups
        self._simple = simple
        self._created: ClassicGroup | None = None
        """Becomes a group when the record of its creation is replayed."""

    def find(self, group_id: str) -> ClassicGroup | None:
        group = self._groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    # Requests

    def join(
        self,
        ticket: Ticket,
        body: m.JoinGroupRequest,
        version: int,
        client: GroupClient,
        now: Now,
    ) -> Step:
        """The handler has checked the group id."""
        joiner = Joiner.of(body, version, client)
        try:
            self.check_session_timeout(joiner.session_timeout_ms)
        except KafkaError as problem:
            return reply(ticket, answers.join_error(problem.code, joiner.member_id))
        group = self.find(body.group_id)
        if group is not None:
            return joining.join(group, ticket, joiner, now)
        other = self._groups.get(body.group_id)
        if other is not None and other.check_delete():
            code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            return reply(ticket, answers.join_error(code, ""))
        if joiner.member_id:
            code = ErrorCode.UNKNOWN_MEMBER_ID
            return reply(ticket, answers.join_error(code, joiner.member_id))
        group = ClassicGroup(body.group_id, self.context, now.wall_ms)
        if body.group_id in self._simple:
            # It exists already, so nothing is written. It is stored with its first assignment.
            del self._simple[body.group_id]
            self._groups[body.group_id] = group
            return joining.join(group, ticket, joiner, now)
        # An empty group of another protocol makes way.
        before = [] if other is None else other.tombstones()
        return self._create(group, ticket, joiner, now, before)

    def check_session_timeout(self, timeout_ms: int) -> None:
        """Raises KafkaError."""
        settings = self.context.settings
        least, most = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        if not least <= timeout_ms <= most:
            raise KafkaError(
                ErrorCode.INVALID_SESSION_TIMEOUT,
                f"a session timeout of {timeout_ms} ms is not between {least} and {most} ms",
            )

    def _create(
        self,
        group: ClassicGroup,
        ticket: Ticket,
        joiner: Joiner,
        now: Now,
        before: list[CoordinatorRecord],
    ) -> Step:
        """A new group is stored before anybody learns of it, even if the join is refused."""
        record = group.empty_record(group.generation, now)
        step = joining.join(group, ticket, joiner, now)
        self._created = group

        def refused(code: ErrorCode, now: Now) -> Step:
            self._created = None
            group.forget_timers()
            self.context.waiting.pop(ticket, None)
            return reply(ticket, answers.join_error(code, ""))

        return Step([*before, record], step.replies, refused)

    def sync(self, ticket: Ticket, body: m.SyncGroupRequest, now: Now) -> Step:
        group = self.find(body.group_id)
        if group is None:
            return reply(ticket, answers.sync_error(ErrorCode.UNKNOWN_MEMBER_ID))
        return syncing.sync(group, ticket, body, now)

    def heartbeat(self, ticket: Ticket, body: m.HeartbeatRequest, now: Now) -> Step:
        group = self.find(body.group_id)
        if group is None:
            return reply(ticket, m.HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        return sessions.heartbeat(group, ticket, body, now)

    def leave(self, ticket: Ticket, body: m.LeaveGroupRequest, now: Now) -> Step:
        """Versions before 3 have one member, which the handler has put into `members`."""
        group = self.find(body.group_id)
        if group is None:
            return reply(ticket, leaving.nobody_left(body))
        return leaving.leave(group, ticket, body, now)

    # Time

    def time_is_up(self, key: tuple[str, ...], now: Now) -> Step:
        """A timer of a classic group has come up."""
        group = self.find(key[1])
        if group is None:
            return Step()
        match key:
            case (timers.SESSION, _, member_id):
                return sessions.session_is_over(group, member_id, now)
            case (timers.JOIN, _):
                return rebalance.join_time_is_up(group, now)
            case (timers.SYNC, _):
                return syncing.sync_time_is_up(group, now)
            case _:
                return Step()

    # The log

    def replay(self, group_id: str, value: m.GroupMetadataValue | None) -> None:
        """Never raises: compaction may have taken the records before a tombstone."""
        group = self.find(group_id)
        if value is None:
            self._simple.pop(group_id, None)
            if group is not None:
                group.forget_timers()
                del self._groups[group_id]
            return
        if group is None:
            self._simple.pop(group_id, None)
            created, self._created = self._created, None
            is_created = created is not None and created.group_id == group_id
            group = created if created and is_created else ClassicGroup(group_id, self.context)
            self._groups[group_id] = group
        group.replay(value)

    def loaded(self, now: Now) -> Step:
        """This node coordinates the groups now: their members' sessions begin anew."""
        classic = [each for each in self._groups.values() if isinstance(each, ClassicGroup)]
        return in_turn(*(sessions.restart_sessions(group, now) for group in classic))

    def tickets(self) -> list[Ticket]:
        """Requests that wait for other members, in the order of their arrival."""
        return list(self.context.waiting)
