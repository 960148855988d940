"""Targets: resolves a target word to the names of nodes.

    one  minority  majority  all          drawn from all nodes
    leader  followers  isr                of one partition of the workload, drawn
    controller                            the active controller
    coordinator  coordinator:tail         of a consumer group or transactional id, drawn or named
    n1+n3                                 these nodes

Without a word, one is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

from harness.cluster.base import PartitionState
from harness.cluster.capabilities import Node
from harness.cluster.coordinators import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    coordinator_partition,
)
from harness.cluster.parts import NO_PARTS, Part, offered, why_lacking
from nemesis.base import Ground, NothingToStrikeError, Scene

TARGETS = ("one", "minority", "majority", "all", "leader", "followers", "controller", "isr")

_OF_PARTS: Mapping[str, frozenset[Part]] = {
    "leader": frozenset({"leaders"}),
    "followers": frozenset({"leaders"}),
    "isr": frozenset({"leaders"}),
    "controller": frozenset({"controllers"}),
    "coordinator": frozenset({"leaders"}),
}
"""Parts that a system needs to have such a target."""
COORDINATOR = "coordinator"
NOTHING_COORDINATED = (
    "the workload has no consumer groups and no transactions; try -w group or -w txn"
)
_NAMES = re.compile(r"n[1-9]\d*(\+n[1-9]\d*)*")


def check_target(text: str) -> None:
    """Raise ValueError for an unknown target; an empty one is drawn later."""
    word = text.partition(":")[0]
    if text in ("", *TARGETS) or word == COORDINATOR or _NAMES.fullmatch(text) is not None:
        return
    raise ValueError(
        f"unknown target {text!r}; choose one of {', '.join(TARGETS)}, {COORDINATOR}, "
        "or nodes such as n1+n3"
    )


def why_no_target(text: str, ground: Ground) -> str | None:
    """Reason why a run on this ground never has such a target, or None."""
    word, _, wanted = text.partition(":")
    if word == COORDINATOR:
        names = (*ground.groups, *ground.transactional_ids)
        if not names:
            return NOTHING_COORDINATED
        if wanted and wanted not in names:
            what = "transactional id" if not ground.groups else "group"
            return f"unknown {what} {wanted!r}; choose one of {', '.join(names)}"
    lacking = why_lacking(_OF_PARTS.get(word, NO_PARTS), ground.parts, ground.system)
    if lacking is not None:
        return f"target {text}: {lacking}"
    if text == "followers" and ground.replication_factor == 1:
        return "a partition with one replica has no followers; try --replication-factor 3"
    if not text or text in TARGETS or word == COORDINATOR:
        return None
    unknown = [name for name in text.split("+") if name not in ground.nodes]
    if not unknown:
        return None
    last = ground.nodes[-1]
    among = "the only node is n1" if last == "n1" else f"the nodes are n1 to {last}"
    return f"unknown node {unknown[0]}; {among}; try a larger --nodes"


def has_target(word: str, parts: frozenset[Part]) -> bool:
    """Whether a system with these parts has such a target."""
    return _OF_PARTS.get(word, NO_PARTS) <= parts


def minority_of(count: int) -> int:
    return max(1, (count - 1) // 2)


def majority_of(count: int) -> int:
    return count // 2 + 1


async def resolve(
    scene: Scene, target: str, dice: Random, *, among: Sequence[str] = TARGETS
) -> tuple[Node, ...]:
    """Nodes of the target, in the cluster's order; an empty target is drawn from `among`."""
    nodes = scene.cluster.nodes
    parts = offered(scene.cluster.system)
    word = target or dice.choice([each for each in among if has_target(each, parts)])
    chosen = await _chosen(scene, word, nodes, dice)
    if not chosen:
        raise NothingToStrikeError(f"the cluster has no {word} now")
    return tuple(node for node in nodes if node in chosen)


async def _chosen(
    scene: Scene, word: str, nodes: Sequence[Node], dice: Random
) -> Sequence[Node | None]:
    match word:
        case "one":
            return [dice.choice(nodes)]
        case "minority":
            return dice.sample(nodes, minority_of(len(nodes)))
        case "majority":
            return dice.sample(nodes, majority_of(len(nodes)))
        case "all":
            return nodes
        case "controller":
            controller = await scene.cluster.controller()
            return [] if controller is None else [controller]
        case "leader" | "followers" | "isr":
            return _of_partition(word, await a_partition(scene, dice))
        case _ if word.partition(":")[0] == COORDINATOR:
            name = word.partition(":")[2] or dice.choice(coordinated(scene))
            _, partition = await coordinating(scene, name)
            return [partition.leader]
        case _:
            return _named(word.split("+"), nodes)


def coordinated(scene: Scene) -> tuple[str, ...]:
    """Names of all that have a coordinator: groups and transactional ids."""
    return (*scene.groups, *scene.transactional_ids)


async def coordinating(scene: Scene, name: str) -> tuple[str, PartitionState]:
    """The internal topic and its partition whose leader coordinates this group, or the producers of
    this transactional id."""
    topic = OFFSETS_TOPIC if name in scene.groups else TRANSACTIONS_TOPIC
    found = await scene.cluster.partitions(topic)
    if not found:
        raise NothingToStrikeError(f"topic {topic} does not exist yet")
    wanted = coordinator_partition(name, len(found))
    return topic, next(each for each in found if each.index == wanted)


def _named(names: Sequence[Node], nodes: Sequence[Node]) -> Sequence[Node]:
    unknown = [name for name in names if name not in nodes]
    if unknown:
        raise NothingToStrikeError(f"unknown node {unknown[0]}; the nodes are {', '.join(nodes)}")
    return names


def _of_partition(word: str, partition: PartitionState) -> Sequence[Node | None]:
    if word == "isr":
        return partition.isr
    if word == "leader":
        return [] if partition.leader is None else [partition.leader]
    return [node for node in partition.replicas if node != partition.leader]


async def a_partition(scene: Scene, dice: Random) -> PartitionState:
    if not scene.topics:
        raise NothingToStrikeError("the workload has no topic")
    found = await scene.cluster.partitions(dice.choice(scene.topics))
    if not found:
        raise NothingToStrikeError("the cluster describes no partition of the topic")
    return dice.choice(found)
