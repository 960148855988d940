"""W-GEN: a coordinator accepts only commits that carry the current generation or member epoch.

Compared is the request with the group as it is in the moment of the decision, so a check that came
before an await does not count (KAFKA-15784), nor one that knows the group of a moment ago:

* a group without members takes commits of clients that name no generation, and of nobody else;
* a classic group takes those of its members that name its generation, except while the assignments
  of a generation are still to come;
* a consumer group takes those of its members that name their own epoch, or an earlier one for a
  partition that has been theirs since (KIP-1251);
* a static member is the one that holds its instance id now (KAFKA-8225);
* a transaction may commit without naming a member, because its producer is fenced by an epoch, and
  while assignments are still to come.
"""

from __future__ import annotations

from broker.inspect import CommitDecided, SeenGroup
from harness.sim.invariants.base import Cost, Violation
from harness.sim.invariants.step import Step

_CONSUMER = "consumer"
_ASSIGNMENTS_ARE_TO_COME = "CompletingRebalance"


class CurrentCommits:
    name = "W-GEN"
    cost = Cost.CHEAP

    def __init__(self) -> None:
        self.looks = 0

    def check(self, step: Step) -> Violation | None:
        for news in step.of_kind("commit"):
            decided = news.detail
            assert isinstance(decided, CommitDecided)
            self.looks += 1
            problem = _problem(decided)
            if problem is not None:
                who = decided.member_id or "a client without a member id"
                return step.broken(
                    self.name,
                    f"{news.node} accepts a commit of {who} for group {decided.group_id} in "
                    f"generation {decided.generation}, but {problem}",
                )
        return None


def _problem(decided: CommitDecided) -> str | None:
    group = decided.group
    is_anonymous = decided.generation < 0 and not decided.member_id and decided.instance_id is None
    if decided.is_transactional and is_anonymous:
        return None
    if group is None or not group.members:
        return None if decided.generation < 0 else "the group has no members"
    member = next((each for each in group.members if each.member_id == decided.member_id), None)
    if member is None:
        return "the group has members, and this is none of them"
    if decided.instance_id is not None and decided.instance_id != member.instance_id:
        return f"its instance id is {member.instance_id}, not {decided.instance_id}"
    if group.kind != _CONSUMER:
        return _problem_of_classic(decided, group)
    if decided.generation == member.epoch:
        return None
    since = dict(zip(member.partitions, member.since, strict=True))
    for topic_id, topic, partition in decided.accepted:
        epoch = since.get((topic_id, partition))
        if decided.generation > member.epoch or epoch is None or epoch > decided.generation:
            held = "does not hold" if epoch is None else f"has held since epoch {epoch}"
            return f"it is in epoch {member.epoch}, and {held} {topic}-{partition}"
    return None


def _problem_of_classic(decided: CommitDecided, group: SeenGroup) -> str | None:
    if decided.generation != group.epoch:
        return f"the group is in generation {group.epoch}"
    if group.state == _ASSIGNMENTS_ARE_TO_COME and not decided.is_transactional:
        return "the assignments of this generation are still to come"
    return None
