"""Nemeses: each injects faults of one kind, proves that they took hold, and heals them.

    --nemesis partition,kill:leader,disk:full@n3      these nemeses
    --nemesis all                                     every nemesis that the cluster supports
    --nemesis none

docs/reference/nemeses.md lists all of them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from inspect import getdoc
from typing import TYPE_CHECKING

from harness.plugin_objects import require_members
from harness.registry import REGISTRY, found

if TYPE_CHECKING:
    from harness.cluster import Cluster
    from harness.schedule.faults import Fault
    from nemesis.base import Ground, Nemesis

NEMESES = REGISTRY.nemeses
ALL = "all"
NONE = "none"
COORDINATOR_OF = "coordinator:"
"""Begins a target that names a consumer group."""
_UNSAID = re.compile(r"[:@]\s*(?=[:@]|$)")
"""A colon or an @ that nothing follows."""


def parse(text: str) -> tuple[Nemesis, ...]:
    """`name[:variant][@target]`, comma separated; ValueError if malformed."""
    words = words_of(text)
    if words == (NONE,):
        return ()
    if words == (ALL,):
        words = tuple(NEMESES)
    for number, word in enumerate(words):
        if not word and len(words) > 1:
            raise ValueError(f"empty nemesis name in {text!r}; try kill,partition")
        if word in (ALL, NONE):
            raise ValueError(
                f"{word} cannot be combined with others in {text!r}; leave out {word} or the others"
            )
        if word in words[:number]:
            raise ValueError(f"nemesis {word} is given twice; give it once")
    return tuple(map(_made, words))


def words_of(text: str) -> tuple[str, ...]:
    """The comma-separated parts of `--nemesis`, stripped."""
    return tuple(word.strip() for word in text.split(","))


def _made(word: str) -> Nemesis:
    if _UNSAID.search(word) is not None:
        raise ValueError(f"nothing follows : or @ in {word!r}; try {_UNSAID.split(word)[0]}")
    head, _, target = word.partition("@")
    name, _, variant = head.partition(":")
    if ":" in target and not target.startswith(COORDINATOR_OF):
        target, _, variant = target.partition(":")
    kind = _class_of(name)
    if not kind.variants:
        # A nemesis without variants takes the word after the colon as its target.
        variant, target = "", target or variant
    elif variant and variant not in kind.variants:
        close = difflib.get_close_matches(variant, kind.variants, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(kind.variants)}"
        raise ValueError(f"unknown variant {name}:{variant}; {hint}")
    made: Nemesis = kind(word, variant, target)
    _require_members(made, name)
    return made


def _class_of(name: str) -> type[Nemesis]:
    if name not in NEMESES:
        close = difflib.get_close_matches(name, NEMESES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(NEMESES)}"
        raise ValueError(f"unknown nemesis {name!r}; {hint}")
    kind: type[Nemesis] = found(NEMESES[name])
    _require_members(kind, name)
    return kind


def _require_members(made: Nemesis | type[Nemesis], name: str) -> None:
    from nemesis.base import Nemesis

    require_members(made, Nemesis, f"nemesis {name}", declared_in="nemesis/base.py")


def for_fault(fault: Fault) -> Nemesis:
    """The nemesis that injects and heals this fault when a stored schedule is played."""
    for name in NEMESES:
        if isinstance(fault, _class_of(name).kinds):
            return _made(name)
    raise ValueError(f"no nemesis injects {fault!r}")


def unavailable(
    nemeses: Sequence[Nemesis], cluster: Cluster, ground: Ground | None = None
) -> dict[str, str]:
    """Reason by name why the cluster lacks the capability, or why the plan gives no target."""
    from harness.cluster.parts import offered, why_lacking

    missing = {}
    for each in nemeses:
        system = cluster.system
        reason = why_lacking(each.needs, offered(system), system.name) or each.why_not(cluster)
        if reason is None and ground is not None:
            reason = each.why_never(ground)
        if reason is not None:
            missing[each.name] = reason
    return missing


def described() -> dict[str, str]:
    """One sentence per nemesis, with its variants."""
    sentences = {}
    for name in NEMESES:
        kind = _class_of(name)
        said = " ".join((getdoc(kind) or "").partition("\n\n")[0].split())
        variants = f" ({', '.join(kind.variants)})" if kind.variants else ""
        sentences[name] = f"{said.rstrip('.')}{variants}"
    return sentences
