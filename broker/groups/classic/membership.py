"""The members of one classic group, their leader, and their requests that wait.

Nothing here depends on the number of members but what is named for it: a thousand of them may join
at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from broker.coordination.step import Reply, Ticket
from broker.groups.classic import answers
from broker.groups.classic.member import Member, Protocols
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode


class Membership:
    """In the order in which they came: it decides who leads next, and ties of votes."""

    def __init__(self, waiting: dict[Ticket, None]) -> None:
        self.leader: str | None = None
        self.pending_joins: dict[str, None] = {}
        """Ids that were given to clients which have not joined with them yet."""
        self.pending_syncs: dict[str, None] = {}
        """Members of this generation that have not asked for their assignment yet."""
        self._by_id: dict[str, Member] = {}
        self._static_ids: dict[str, str] = {}
        self._supporters: dict[str, int] = {}
        self._joining_count = 0
        self._waiting = waiting

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._by_id.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._by_id

    def get(self, member_id: str) -> Member | None:
        return self._by_id.get(member_id)

    def static_id(self, instance_id: str | None) -> str | None:
        """The member id of this instance, or None."""
        return None if instance_id is None else self._static_ids.get(instance_id)

    @property
    def joining_count(self) -> int:
        """How many members wait in JoinGroup."""
        return self._joining_count

    @property
    def have_all_joined(self) -> bool:
        return self._joining_count == len(self._by_id) and not self.pending_joins

    def rebalance_timeout_ms(self) -> int:
        """The longest of all members."""
        return max((each.rebalance_timeout_ms for each in self), default=0)

    # Changes

    def add(self, member: Member) -> None:
        self._by_id[member.member_id] = member
        self.pending_joins.pop(member.member_id, None)
        if member.instance_id is not None:
            self._static_ids[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self._count(member.protocols, 1)

    def remove(self, member_id: str) -> list[Reply]:
        """Its waiting requests are answered UNKNOWN_MEMBER_ID: if it lives, it joins anew."""
        self.pending_joins.pop(member_id, None)
        self.pending_syncs.pop(member_id, None)
        member = self._by_id.pop(member_id, None)
        if member is None:
            return []
        self._count(member.protocols, -1)
        if member.instance_id is not None and self.static_id(member.instance_id) == member_id:
            del self._static_ids[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self._by_id), None)
        return self._dismiss(member, ErrorCode.UNKNOWN_MEMBER_ID, "")

    def replace(self, old: Member, new: Member) -> list[Reply]:
        """The same instance under a new id. Requests that wait under the old id are fenced."""
        is_leader = self.leader == old.member_id
        is_pending = old.member_id in self.pending_syncs
        replies = self._dismiss(old, ErrorCode.FENCED_INSTANCE_ID, old.member_id)
        self.remove(old.member_id)
        self.add(new)
        if is_leader:
            self.leader = new.member_id
        if is_pending:
            self.pending_syncs[new.member_id] = None
        return replies

    def change_protocols(self, member: Member, protocols: Protocols) -> None:
        self._count(member.protocols, -1)
        member.protocols = protocols
        self._count(protocols, 1)

    def take_over(self, members: Iterable[Member], leader: str | None) -> None:
        """The members are these and no others; who is gone has no request that waits."""
        self._by_id.clear()
        self._static_ids.clear()
        self._supporters.clear()
        self.leader = None
        for member in members:
            self.add(member)
        if leader is not None and leader in self._by_id:
            self.leader = leader
        self.pending_syncs = {each: None for each in self.pending_syncs if each in self._by_id}

    # Protocols

    def agree_on_one_of(self, names: Iterable[str]) -> bool:
        """Whether all members support one of these protocols."""
        everybody = len(self._by_id)
        return any(self._supporters.get(name, 0) == everybody for name in names)

    def elect_protocol(self, arriving: Member | None = None) -> str | None:
        """The protocol with the most votes among those that all members support.

        `arriving` votes in the place of the static member with its instance id.
        """
        voters = list(self._by_id.values())
        if arriving is not None:
            voters = [
                arriving if each.instance_id == arriving.instance_id else each for each in voters
            ]
        supporters: dict[str, int] = {}
        for member in voters:
            for name in _names(member.protocols):
                supporters[name] = supporters.get(name, 0) + 1
        candidates = {name for name, count in supporters.items() if count == len(voters)}
        votes: dict[str, int] = {}
        for member in voters:
            vote = member.vote(candidates)
            if vote is not None:
                votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=lambda name: votes[name], default=None)

    def _count(self, protocols: Protocols, change: int) -> None:
        for name in _names(protocols):
            count = self._supporters.pop(name, 0) + change
            if count:
                self._supporters[name] = count

    # Requests that wait

    def park_join(self, member: Member, ticket: Ticket) -> list[Reply]:
        """The request waits for the other members. One that it repeats is answered now."""
        code = ErrorCode.REBALANCE_IN_PROGRESS
        repeated = self.answer_join(member, answers.join_error(code, member.member_id))
        member.join = ticket
        self._joining_count += 1
        self._waiting[ticket] = None
        return repeated

    def answer_join(self, member: Member, response: m.JoinGroupResponse) -> list[Reply]:
        ticket, member.join = member.join, None
        if ticket is None:
            return []
        self._joining_count -= 1
        del self._waiting[ticket]
        return [Reply(ticket, response)]

    def park_sync(self, member: Member, ticket: Ticket) -> list[Reply]:
        """The request waits for the leader's. One that it repeats is answered now."""
        repeated = self.answer_sync(member, answers.sync_error(ErrorCode.REBALANCE_IN_PROGRESS))
        member.sync = ticket
        self._waiting[ticket] = None
        return repeated

    def answer_sync(self, member: Member, response: m.SyncGroupResponse) -> list[Reply]:
        ticket, member.sync = member.sync, None
        if ticket is None:
            return []
        del self._waiting[ticket]
        return [Reply(ticket, response)]

    def _dismiss(self, member: Member, code: ErrorCode, member_id: str) -> list[Reply]:
        replies = self.answer_join(member, answers.join_error(code, member_id))
        return replies + self.answer_sync(member, answers.sync_error(code))


def _names(protocols: Protocols) -> dict[str, None]:
    return dict.fromkeys(name for name, _ in protocols)
