"""Plays stories against one broker and keeps what it answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from broker.protocol.apis import API_VERSIONS, ApiKey
from broker.protocol.schema_text import schema
from tests.differential.plain import message_of
from tests.differential.script import Story
from tests.differential.systems import System
from tests.differential.talk import NotServedError, Step, StoryEndedError, Talk
from tests.differential.wire import Connection

Advertised = Mapping[int, tuple[int, int]]


@dataclass
class Play:
    """One story, one version, one broker."""

    story: Story
    version: int
    label: str
    steps: list[Step] = field(default_factory=list)
    stopped: str = ""
    """Why the story could not be told to its end."""
    lacks: str = ""
    """What the story needs and the broker does not serve."""


def advertised_by(system: System) -> Advertised:
    connection = Connection(system.address)
    try:
        request = schema().apis[ApiKey.API_VERSIONS].request.struct
        sent = connection.send(ApiKey.API_VERSIONS, 0, message_of(request, {}))
        response = connection.response(sent)
    finally:
        connection.close()
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


def played_versions(story: Story, advertised: Sequence[Advertised]) -> list[int]:
    """The versions of the story that the codec has and every broker advertises."""
    first, last = API_VERSIONS[story.api_key]
    for table in advertised:
        there_first, there_last = table.get(story.api_key, (0, -1))
        first, last = max(first, there_first), min(last, there_last)
    return [version for version in story.versions if first <= version <= last]


def play(story: Story, version: int, system: System, advertised: Advertised, run: str) -> Play:
    label = f"{run}-{story.area}-{story.name}-v{version}".replace("_", "-")
    talk = Talk(system.address, story.api_key, version, label, advertised)
    stopped = lacks = ""
    try:
        story.tell(talk)
    except NotServedError as problem:
        lacks = str(problem)
    except (StoryEndedError, LookupError, AttributeError, AssertionError) as problem:
        stopped = f"{type(problem).__name__}: {problem}"
    finally:
        talk.close()
    return Play(story, version, label, talk.steps, stopped, lacks)
