"""The brokers that a session plays against, and every play of a story on them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from tests.differential.play import Play, advertised_by, play, played_versions
from tests.differential.script import Story
from tests.differential.systems import System


class Stage:
    """Names that plays make up begin with a word of their own, so a broker may be used again."""

    def __init__(self, systems: Sequence[System]) -> None:
        self.systems = systems
        self.step_count = 0
        """Steps played so far, each counted once for all brokers."""
        self.not_played: dict[str, str] = {}
        """Stories left out, and what a broker lacks for them."""
        self._advertised = [advertised_by(system) for system in systems]
        self._run = uuid4().hex[:6]

    def plays(self, story: Story) -> list[list[Play]]:
        """For each version that every broker advertises: one play per broker."""
        found = []
        versions = played_versions(story, self._advertised)
        if not versions:
            self._leave_out(story, story.api_key.name)
        for version in versions:
            plays = self._on_all(story, version)
            lacks = [each.lacks for each in plays if each.lacks]
            if lacks:
                self._leave_out(story, lacks[0])
                continue
            self.step_count += sum(not step.is_setup for step in plays[0].steps)
            found.append(plays)
        return found

    def _on_all(self, story: Story, version: int) -> list[Play]:
        """At the same time: a play mostly waits for its broker."""
        with ThreadPoolExecutor(len(self.systems)) as threads:
            running = [
                threads.submit(play, story, version, system, advertised, self._run)
                for system, advertised in zip(self.systems, self._advertised, strict=True)
            ]
            return [each.result() for each in running]

    def _leave_out(self, story: Story, lacks: str) -> None:
        self.not_played[f"{story.area}/{story.name}"] = lacks
