"""What a nemesis does where a system lacks parts: it is refused, or leaves those targets out."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from harness.cluster.parts import EVERY_PART, NO_PARTS, PARTS, NoParts, Part, offered, why_lacking
from harness.schedule.faults import Cut
from nemesis import NEMESES, parse, unavailable
from nemesis.base import Ground
from nemesis.targets import TARGETS, resolve, why_no_target
from tests.unit.nemesis.scenes import Stage, a_moment, named, on_stage

GROUND = Ground(
    nodes=("n1", "n2", "n3"),
    clients=3,
    topic_configs={"t": {}},
    is_polled=True,
    replication_factor=3,
    min_insync_replicas=2,
    racks={"n1": "r1", "n2": "r2", "n3": "r3"},
    unsafe_faults=False,
    length_ms=60_000,
    system="tiny",
    parts=NO_PARTS,
)


class Tiny(NoParts):
    """The stage's own system, but for its parts."""

    name = "tiny"

    def __init__(self, system: Any) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)


def without_parts(stage: Stage) -> None:
    stage.cluster.system = Tiny(stage.cluster.system)


@on_stage(3)
async def test_a_nemesis_that_needs_a_missing_part_is_refused_in_a_sentence(stage: Stage) -> None:
    assert offered(stage.cluster.system) == EVERY_PART - {"state"}
    nemeses = [named(name) for name in NEMESES]
    assert not unavailable(nemeses, stage.cluster)
    without_parts(stage)
    lacking = unavailable(nemeses, stage.cluster)
    assert set(lacking) == {"move", "compact", "retention", "membership"}
    assert lacking["move"] == ("it needs partitions with leaders, which system tiny does not have")


@on_stage(3)
async def test_the_dice_leave_out_targets_that_a_system_does_not_have(stage: Stage) -> None:
    without_parts(stage)
    for seed in range(40):
        assert await resolve(stage.scene, "", Random(seed))
        chosen = await named("partition").choose(stage.scene, a_moment("partition"), Random(seed))
        assert all(isinstance(each, Cut) for each in chosen)


@on_stage(1)
async def test_one_node_alone_has_its_clients_cut_off(stage: Stage) -> None:
    (cut,) = await named("partition").choose(stage.scene, a_moment("partition"), Random(1))
    assert isinstance(cut, Cut)
    assert set(cut.links) == {("clients", "n1"), ("n1", "clients")}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("kill@leader", "leaders"),
        ("pause@followers", "leaders"),
        ("power@isr", "leaders"),
        ("restart@controller", "controllers"),
        ("partition:leader", "leaders"),
        ("partition:controller", "controllers"),
        ("disk:bit-flip", "stored"),
        ("disk:truncated-tail", "stored"),
    ],
)
def test_a_target_or_variant_that_takes_a_missing_part_is_refused(text: str, part: Part) -> None:
    (nemesis,) = parse(text)
    assert nemesis.why_never(replace(GROUND, parts=EVERY_PART)) is None
    refused = nemesis.why_never(replace(GROUND, parts=EVERY_PART - {part}))
    assert refused is not None
    assert "which system tiny does not have" in refused


def test_targets_that_need_no_part_are_had_everywhere() -> None:
    had = {word for word in TARGETS if why_no_target(word, GROUND) is None}
    assert had == {"one", "minority", "majority", "all"}


def test_each_part_has_its_words() -> None:
    for part in PARTS:
        assert why_lacking({part}, NO_PARTS, "tiny") is not None
        assert why_lacking({part}, EVERY_PART, "tiny") is None
