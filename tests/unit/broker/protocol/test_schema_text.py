"""The schema text says what it means, and a mistake in it is named with its line."""

import pytest

from broker.protocol.schema import NEVER, Versions
from broker.protocol.schema_text import SchemaError, parse, schema

TEXT = """
# A comment.
api 7 Sample  versions 2-5  flexible 4+
request
    name        string    3+ null 4+ default null  # another comment
    inner       []Inner
        number  int32     default -1
    again       Inner     5 tag 0
response
message Alone  versions 0
    flag  bool  default true
"""


def test_a_field_has_its_versions_and_options() -> None:
    fields = {field.name: field for field in parse({"a": TEXT}).apis[7].request.struct.fields}
    name, inner, again = fields["name"], fields["inner"], fields["again"]
    assert (name.versions, name.null, name.default) == (Versions(3, 5), Versions(4, 5), None)
    assert (inner.versions, inner.null, inner.is_array) == (Versions(2, 5), NEVER, True)
    assert (again.versions, again.tag, again.is_optional) == (Versions(5, 5), 0, True)
    assert again.struct is inner.struct
    assert again.struct is not None
    assert again.struct.fields[0].default == -1


def test_an_api_has_a_request_and_a_response_of_the_same_versions() -> None:
    parsed = parse({"a": TEXT})
    assert parsed.apis[7].response.versions == Versions(2, 5)
    assert parsed.apis[7].flexible == Versions(4, 5)
    assert list(parsed.messages) == ["SampleRequest", "SampleResponse", "Alone"]
    assert parsed.messages["Alone"].struct.fields[0].default is True


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("nonsense", "f:1: expected api or message"),
        ("api 1 A versions 0\nresponse", "f:2: expected the request of A"),
        ("message A versions 1+", "f:1: '1\\+' needs a last version"),
        ("message A versions x", "f:1: 'x' are no versions"),
        ("message A", "f:1: expected versions"),
        ("message A versions 0\n    a", "f:2: expected the name and the type"),
        ("message A versions 0\n    a int32 whatever", "f:2: 'whatever' is no option"),
        ("message A versions 0\n    a string default null", "f:2: defaults to null"),
        ("message A versions 0\n    a Inner", "f:2: Inner must be defined once"),
        ("message A versions 0\n    a int32\n        b int32", "f:3: indented too far"),
        ("message A versions 0\nmessage A versions 0", "f: A is defined twice"),
    ],
)
def test_a_mistake_is_named_with_its_line(line: str, problem: str) -> None:
    with pytest.raises(SchemaError, match=problem):
        parse({"f": line})


def test_all_names_can_be_names_in_python() -> None:
    for message in schema().messages.values():
        for struct in message.structs():
            assert struct.name.isidentifier()
            assert all(field.name.isidentifier() for field in struct.fields)


def test_every_tag_is_used_once_in_its_struct_and_only_in_flexible_versions() -> None:
    for message in schema().messages.values():
        for struct in message.structs():
            for version in message.versions:
                tags = [field.tag for field in struct.tagged_in_version(version)]
                assert len(tags) == len(set(tags))
                assert not tags or version in message.flexible
