"""What answers and records of groups are called in a story: one short line for each."""

from __future__ import annotations

from typing import Any

from broker.coordination.step import CoordinatorRecord
from broker.groups import records
from broker.protocol import messages as m
from broker.protocol.errors import ErrorCode


def answer(response: Any) -> str:
    if isinstance(response, ErrorCode):
        return response.name
    if getattr(response, "error_code", 0):
        code = ErrorCode(response.error_code).name
        has_id = isinstance(response, m.JoinGroupResponse) and response.member_id
        return f"{code}, its id is {response.member_id}" if has_id else code
    match response:
        case m.JoinGroupResponse():
            return _joined(response)
        case m.SyncGroupResponse():
            return f"assigned {text(response.assignment)}"
        case m.LeaveGroupResponse():
            return ", ".join(
                f"{each.member_id or each.group_instance_id}: {ErrorCode(each.error_code).name}"
                for each in response.members
            )
        case m.HeartbeatResponse():
            return "fine"
        case m.OffsetCommitResponse():
            return ErrorCode(response.topics[0].partitions[0].error_code).name
        case _:
            raise ValueError(f"no words for {response}")


def _joined(response: m.JoinGroupResponse) -> str:
    said = [f"generation {response.generation_id}", f"as {response.member_id}"]
    if response.member_id == response.leader:
        said.append("which leads")
        members = ", ".join(f"{each.member_id}={text(each.metadata)}" for each in response.members)
        said.append(f"{response.protocol_name} of {members}")
    else:
        said.append(f"led by {response.leader}")
    if response.skip_assignment:
        said.append("assigns nothing")
    return ", ".join(said)


def record(written: CoordinatorRecord) -> str:
    kind, key = records.decode_key(written.key)
    value: Any = None if written.value is None else records.decode_value(kind, written.value)
    match kind, value:
        case records.OFFSET_COMMIT, None:
            return f"log: {key.group} offset of {key.topic}-{key.partition} deleted"
        case records.OFFSET_COMMIT, _:
            return f"log: {key.group} offset of {key.topic}-{key.partition} is {value.offset}"
        case records.GROUP_METADATA, None:
            return f"log: {key.group} deleted"
        case records.GROUP_METADATA, _:
            return f"log: {key.group} generation {value.generation}{_members(value)}"
        case _:
            raise ValueError(f"no words for kind {kind}")


def _members(value: m.GroupMetadataValue) -> str:
    if not value.members:
        return " empty"
    given = ", ".join(f"{each.member_id}={text(each.assignment)}" for each in value.members)
    return f" {value.protocol} led by {value.leader}: {given}"


def text(data: bytes) -> str:
    return data.decode() or "nothing"
