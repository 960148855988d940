"""Plays areas by hand.

    python -m tests.differential --area produce              compares Apache Kafka and our broker
    python -m tests.differential --area join_group --only kafka --show    what Kafka answers
    python -m tests.differential --list                      the areas, their stories and versions

Without `--area` every area is played. Kafka is started from the jars that Maven fetched, or found
where `--at kafka=127.0.0.1:9092` says; then it should have the settings in `systems.py`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

from tests.differential.compare import Difference, compared
from tests.differential.intended import INTENDED
from tests.differential.judge import judged, report
from tests.differential.play import Play
from tests.differential.script import area_names, stories_of
from tests.differential.show import shown_plays, shown_versions
from tests.differential.stage import Stage
from tests.differential.systems import KAFKA, OURS, System, running_systems


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    areas = options.area or area_names()
    if options.list:
        for area in areas:
            for story in stories_of(area):
                versions = shown_versions(list(story.versions))
                _say(f"{area}/{story.name}: {story.api_key.name} {versions}")
        return 0
    names = (options.only,) if options.only else (KAFKA, OURS)
    at = dict(each.split("=", 1) for each in options.at)
    with ExitStack() as cleanup:
        missing = [name for name in names if name not in at]
        started = cleanup.enter_context(running_systems(missing)) if missing else []
        found = {system.name: system for system in started}
        systems = [found.get(name) or System(name, at[name]) for name in names]
        return _played(Stage(systems), areas, options)


def _played(stage: Stage, areas: Sequence[str], options: argparse.Namespace) -> int:
    differences: list[Difference] = []
    for area in areas:
        begun = time.monotonic()
        for story in stories_of(area):
            if options.story and options.story not in story.name:
                continue
            played = stage.plays(story)
            if options.show:
                for system, plays in zip(stage.systems, zip(*played, strict=True), strict=False):
                    _show(f"{area}/{story.name} on {system.name}", plays)
            if options.only is None:
                for pair in played:
                    differences += compared(*pair)
        _say(f"played {area} in {time.monotonic() - begun:.1f} s")
    for name, lacks in stage.not_played.items():
        _say(f"NOT PLAYED {name}: a broker does not serve {lacks}")
    if options.only is not None:
        return 0
    whole = [] if options.story else [*areas, *(() if options.area else ("*",))]
    verdict = judged(differences, INTENDED, whole)
    for line in report(verdict):
        _say(line)
    _say(
        f"{stage.step_count} steps compared: {len(verdict.failures)} differences,"
        f" {len(verdict.intended)} intended ones, {len(verdict.unused)} entries unused"
    )
    return 0 if verdict.is_good else 1


def _show(title: str, plays: Sequence[Play]) -> None:
    _say(title)
    for line in shown_plays(plays):
        _say(line)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--area", action="append", choices=area_names(), metavar="AREA",
        help="play this area; may be repeated",
    )  # fmt: skip
    parser.add_argument("--story", help="play only stories with this in their name")
    parser.add_argument("--only", choices=(KAFKA, OURS), help="play against one broker")
    parser.add_argument("--show", action="store_true", help="print every answer")
    parser.add_argument("--list", action="store_true", help="list the stories; play nothing")
    parser.add_argument(
        "--at", action="append", default=[], metavar="NAME=HOST:PORT",
        help="a broker that runs already, kafka=... or ours=...",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
