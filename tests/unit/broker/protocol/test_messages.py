"""Message classes: made on demand, built by keyword, compared by value, and typed by the stub."""

import copy
import pickle
from pathlib import Path

import pytest

from broker.protocol import messages as m
from broker.protocol.schema_text import schema
from broker.protocol.stubs import stub_text


def test_the_committed_stub_is_what_the_generator_writes() -> None:
    committed = Path(str(m.__file__)).with_suffix(".pyi").read_text("utf-8")
    assert committed == stub_text(), (
        "run: python -m broker.protocol.stubs > broker/protocol/messages.pyi"
    )


def test_defaults_are_kafkas() -> None:
    request = m.FetchRequest()
    assert (request.max_bytes, request.session_epoch, request.topics) == (2**31 - 1, -1, [])
    assert m.ProduceRequest().transactional_id is None
    assert m.FetchPartition().high_watermark == 2**63 - 1


def test_two_messages_never_share_a_list_or_a_struct() -> None:
    first, second = m.FetchRequest(), m.FetchRequest()
    first.topics.append(m.FetchTopic())
    assert second.topics == []
    assert m.Member().assignment is not m.Member().assignment


def test_null_can_be_told_from_an_empty_list() -> None:
    assert m.MetadataRequest(topics=None).topics is None
    assert m.MetadataRequest().topics == []


def test_messages_are_equal_when_their_fields_are() -> None:
    assert m.ApiVersion(api_key=1) == m.ApiVersion(api_key=1)
    assert m.ApiVersion(api_key=1) != m.ApiVersion(api_key=2)
    others: list[object] = [m.HeartbeatResponse(), None]
    assert m.SyncGroupResponse() not in others
    with pytest.raises(TypeError, match="unhashable"):
        hash(m.ApiVersion())


def test_a_message_shows_its_fields() -> None:
    assert repr(m.ApiVersion(api_key=1, max_version=3)) == (
        "ApiVersion(api_key=1, min_version=0, max_version=3)"
    )


def test_a_field_that_does_not_exist_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        m.ApiVersion().api_kee = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="NoSuchRequest"):
        m.NoSuchRequest  # type: ignore[attr-defined] # noqa: B018


def test_messages_can_be_copied_and_pickled() -> None:
    message = m.MetadataRequest(topics=[m.MetadataRequestTopic(name="t")])
    assert copy.deepcopy(message) == message
    assert pickle.loads(pickle.dumps(message)) == message  # noqa: S301


def test_every_struct_of_the_schema_is_a_class() -> None:
    names = [s.name for message in schema().messages.values() for s in message.structs()]
    assert sorted(names) == dir(m)
    assert all(getattr(m, name).__name__ == name for name in names)
