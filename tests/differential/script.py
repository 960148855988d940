"""What a script consists of: areas of stories, each played once per version of its API.

A story is a function that talks to one broker. It never sees which broker it is, so every branch
it takes depends on the answers alone.

    @story(ApiKey.LIST_OFFSETS)
    def of_an_unknown_topic(talk: Talk) -> None:
        talk.ask("latest", topics=[{"name": talk.name(), "partitions": [...]}])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from broker.protocol.apis import API_VERSIONS, ApiKey
from tests.differential.talk import Talk

StoryFunction = Callable[[Talk], None]
_AREAS = Path(__file__).with_name("areas")


@dataclass(frozen=True)
class Story:
    area: str
    name: str
    api_key: ApiKey
    versions: range
    """The versions it is written for. Those that a broker does not advertise are left out."""
    tell: StoryFunction


_stories: dict[str, list[Story]] = {}


def story(
    api_key: ApiKey, first: int | None = None, last: int | None = None
) -> Callable[[StoryFunction], StoryFunction]:
    """Adds the function to the area of its module, for every version in the closed range."""
    known_first, known_last = API_VERSIONS[api_key]
    versions = range(
        known_first if first is None else first, (known_last if last is None else last) + 1
    )

    def add(tell: StoryFunction) -> StoryFunction:
        area = tell.__module__.rpartition(".")[2]
        told = Story(area, tell.__name__, api_key, versions, tell)
        _stories.setdefault(area, []).append(told)
        return tell

    return add


def area_names() -> list[str]:
    return sorted(path.stem for path in _AREAS.glob("[a-z]*.py"))


def stories_of(area: str) -> list[Story]:
    import_module(f"tests.differential.areas.{area}")
    return _stories[area]
