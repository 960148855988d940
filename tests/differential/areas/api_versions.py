"""ApiVersions: what each broker serves, and what it says to requests it does not understand."""

from __future__ import annotations

import struct

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Talk

VERSIONS = ApiKey.API_VERSIONS


@story(VERSIONS)
def the_table(talk: Talk) -> None:
    """Every API with its versions: what Kafka has and we lack is in the intended differences."""
    talk.ask("named", client_software_name="differential", client_software_version="1.0")


@story(VERSIONS, 3)
def names_of_clients(talk: Talk) -> None:
    """Only the error is compared here: the table is the other story's."""
    for name, version in (
        ("", ""),
        ("differential", ""),
        ("", "1.0"),
        ("a b", "1.0"),
        ("a/b", "1.0"),
        ("-a", "1.0"),
        ("a-", "1.0"),
        ("a.b-c", "1.0-rc.1"),
        ("ü", "1.0"),
        ("a", "1_0"),
        ("a" * 300, "1.0"),
    ):
        step = f"name {name[:9]!r}, version {version!r}"
        answer = talk.ask(step, client_software_name=name, client_software_version=version)
        talk.steps[-1].response = {"error_code": answer.error_code}


@story(VERSIONS, 0, 0)
def versions_that_are_not_served(talk: Talk) -> None:
    """The answer has version 0, so that every client can read it; others end the connection."""
    for version in (5, 99, -1):
        frame = talk.raw_answer(f"ApiVersions v{version}", VERSIONS, version, b"\0\0\0\0")
        talk.steps[-1].response = {
            "is_answered": frame is not None,
            "error_code": struct.unpack_from(">h", frame, 4)[0] if frame else 0,
        }
    for key, version in (
        (ApiKey.METADATA, 14),
        (ApiKey.METADATA, -1),
        (ApiKey.PRODUCE, 2),
        (ApiKey.FETCH, 3),
        (ApiKey.LIST_OFFSETS, 0),
        (ApiKey.CREATE_TOPICS, 1),
        (ApiKey.VOTE, 0),
        (4, 0),
        (9999, 0),
        (-1, 0),
    ):
        talk.raw_answer(f"api {int(key)} v{version}", key, version, bytes(60))


@story(VERSIONS, 0, 0)
def bytes_that_are_no_request(talk: Talk) -> None:
    talk.raw_bytes("length -1", struct.pack(">i", -1))
    talk.raw_bytes("length 0", struct.pack(">i", 0))
    talk.raw_bytes("length 1", struct.pack(">i", 1) + b"\0")
    talk.raw_bytes("a header that is cut off", struct.pack(">ihh", 4, 18, 0))
    talk.raw_bytes("length of 2 GiB", struct.pack(">i", 2**31 - 1))
    talk.raw_bytes("an HTTP request", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    header = struct.pack(">hhih", ApiKey.METADATA, 1, 7, -1)
    for what, body in {
        "array longer than the frame": struct.pack(">i", 1_000_000),
        "negative array length": struct.pack(">i", -5),
        "string that is cut off": struct.pack(">ih", 1, 50),
        "nothing": b"",
        "bytes left over": struct.pack(">i", 0) + b"left",
    }.items():
        frame = header + body
        talk.raw_bytes(f"Metadata v1, {what}", struct.pack(">i", len(frame)) + frame)
    flexible = struct.pack(">hhih", ApiKey.METADATA, 9, 7, -1) + b"\0"
    for what, body in {
        "null array, no tags": b"\0\1\0\0\0",
        "unknown tagged field": b"\0\1\0\0\1\x63\2ab",
        "tagged field that is cut off": b"\0\1\0\0\1\x63\x7fab",
        "the same tag twice": b"\0\1\0\0\2\x63\1a\x63\1b",
    }.items():
        frame = flexible + body
        talk.raw_bytes(f"Metadata v9, {what}", struct.pack(">i", len(frame)) + frame)
