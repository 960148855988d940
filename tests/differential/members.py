"""Groups and their members, as scripts need them before the part that is compared."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from broker.protocol.apis import ApiKey
from tests.differential.talk import Fields, Talk

JOIN_VERSION = 9
SYNC_VERSION = 5


@dataclass
class Member:
    group: str
    id: str
    generation: int
    instance: str | None = None

    def fields(self, **changed: Any) -> Fields:
        """The fields of Heartbeat and SyncGroup that say who asks."""
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            **changed,
        }


def subscription(*topics: str) -> bytes:
    """What a consumer sends with JoinGroup (ConsumerProtocolSubscription v0)."""
    encoded = [struct.pack(">h", len(topic)) + topic.encode() for topic in topics]
    return struct.pack(">hi", 0, len(topics)) + b"".join(encoded) + struct.pack(">i", -1)


def assignment(topic: str, *partitions: int) -> bytes:
    """What a leader assigns to a consumer (ConsumerProtocolAssignment v0)."""
    name = struct.pack(">h", len(topic)) + topic.encode()
    listed = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return struct.pack(">hi", 0, 1) + name + listed + struct.pack(">i", -1)


def join(group: str, member_id: str = "", **changed: Any) -> Fields:
    """The fields of a JoinGroup that nothing is wrong with, but for what is changed."""
    return {
        "group_id": group,
        "member_id": member_id,
        "session_timeout_ms": 30_000,
        "rebalance_timeout_ms": 30_000,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription()}],
        **changed,
    }


def new_group(talk: Talk) -> str:
    """A name whose coordinator is ready."""
    name = talk.name("group")
    talk.setup(
        ApiKey.FIND_COORDINATOR,
        version=4,
        until=lambda response: response.coordinators[0].error_code == 0,
        coordinator_keys=[name],
    )
    # The coordinator is known before it has read its partition of the offsets.
    talk.setup(ApiKey.DESCRIBE_GROUPS, version=5, groups=[name])
    return name


def begun(
    talk: Talk,
    group: str | None = None,
    *,
    topics: Sequence[str] = (),
    instance: str | None = None,
    on: str = "first",
) -> Member:
    """The only member of a group, which waits for its SyncGroup (CompletingRebalance)."""
    group = group or new_group(talk)
    protocols = [{"name": "range", "metadata": subscription(*topics)}]
    fields = join(group, protocols=protocols, group_instance_id=instance)
    answer = talk.setup(ApiKey.JOIN_GROUP, version=JOIN_VERSION, on=on, **fields)
    if answer.generation_id < 0:
        fields["member_id"] = answer.member_id
        answer = talk.setup(ApiKey.JOIN_GROUP, version=JOIN_VERSION, on=on, **fields)
    assert answer.error_code == 0, answer
    return Member(group, answer.member_id, answer.generation_id, instance)


def settled(
    talk: Talk,
    group: str | None = None,
    *,
    topics: Sequence[str] = (),
    instance: str | None = None,
    assigned: bytes = b"all",
    on: str = "first",
) -> Member:
    """The only member of a stable group."""
    member = begun(talk, group, topics=topics, instance=instance, on=on)
    answer = talk.setup(
        ApiKey.SYNC_GROUP,
        version=SYNC_VERSION,
        on=on,
        **member.fields(
            protocol_type="consumer",
            protocol_name="range",
            assignments=[{"member_id": member.id, "assignment": assigned}],
        ),
    )
    assert answer.error_code == 0, answer
    return member


def disturbed(talk: Talk, member: Member, *, on: str = "newcomer") -> None:
    """A second member asks to join, so that the first one has to (PreparingRebalance)."""
    fields = join(member.group)
    answer = talk.setup(ApiKey.JOIN_GROUP, version=JOIN_VERSION, on=on, **fields)
    talk.send_unseen(
        ApiKey.JOIN_GROUP, version=JOIN_VERSION, on=on, **join(member.group, answer.member_id)
    )
    talk.setup(
        ApiKey.DESCRIBE_GROUPS,
        version=5,
        until=lambda response: response.groups[0].group_state == "PreparingRebalance",
        groups=[member.group],
    )


def beat(group: str, member: str, epoch: int = 0, *topics: str, **changed: Any) -> Fields:
    """A full heartbeat of the new protocol, as a member sends it when it joins."""
    return {
        "group_id": group,
        "member_id": member,
        "member_epoch": epoch,
        "rebalance_timeout_ms": 30_000,
        "subscribed_topic_names": list(topics),
        "topic_partitions": [],
        **changed,
    }


def consumer(talk: Talk, group: str, topic: str, **changed: Any) -> tuple[str, int]:
    """A member of the new protocol in a group of its own: its id and its epoch."""
    fields = beat(group, talk.name("member"), 0, topic, **changed)
    joined = talk.setup(ApiKey.CONSUMER_GROUP_HEARTBEAT, version=0, **fields)
    assert joined.error_code == 0, joined
    return joined.member_id, joined.member_epoch


def left(talk: Talk, member: Member) -> None:
    """The member leaves; its group stays, empty."""
    talk.setup(
        ApiKey.LEAVE_GROUP,
        version=5,
        group_id=member.group,
        members=[{"member_id": member.id, "group_instance_id": member.instance}],
    )


def commit(
    group: str,
    topic: tuple[str, bytes],
    *,
    partition: int = 0,
    offset: int = 5,
    member_id: str = "",
    generation: int = -1,
    metadata: str | None = "note",
    **changed: Any,
) -> Fields:
    """The fields of an OffsetCommit of one partition."""
    name, topic_id = topic
    return {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member_id,
        "topics": [
            {
                "name": name,
                "topic_id": topic_id,
                "partitions": [
                    {
                        "partition_index": partition,
                        "committed_offset": offset,
                        "committed_metadata": metadata,
                    }
                ],
            }
        ],
        **changed,
    }
