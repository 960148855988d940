"""The faults of a run as bands of time, from what the nemesis wrote into the history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.history.op import Op


@dataclass(slots=True)
class Band:
    """One stroke of a nemesis, on however many nodes."""

    name: str
    label: str
    begin_ns: int
    end_ns: int
    nodes: list[str] = field(default_factory=list)
    has_taken_hold: bool = False
    proof: str = ""
    """How it is known that it took hold, in a sentence; on several nodes, on the first."""
    kind: str = ""
    sides: list[list[str]] = field(default_factory=list)
    """Nodes that could still reach each other, where links were cut; empty elsewhere."""

    clients: list[str] = field(default_factory=list)
    """Clients that were struck; empty if it struck nodes or links."""
    links: frozenset[frozenset[str]] = frozenset()
    """Pairs of nodes whose link was struck, in one direction or both."""
    backs: list[tuple[int, str]] = field(default_factory=list)
    """Nodes that ran again while the fault went on to the next, and when, in ns."""

    def strikes(self, node: str) -> bool:
        """Whether it struck this node itself, its links, or cut it off from the larger side."""
        if not self.sides:
            return node in self.nodes or bool(self.cut_from(node))
        largest = max(self.sides, key=len)
        return any(node in side for side in self.sides if side is not largest)

    def cut_from(self, node: str) -> list[str]:
        """The nodes at the other ends of its links that were struck."""
        return sorted(other for link in self.links if node in link for other in link - {node})


def bands(rows: Iterable[Op], nodes: Sequence[str], end_of_all_ns: int) -> list[Band]:
    """`rows` are the nemesis's own. A fault that nobody ended lasts to the end."""
    found: dict[str, Band] = {}
    open_: dict[str, set[str]] = {}
    for op in rows:
        value = op.value if isinstance(op.value, Mapping) else {}
        if "name" in value:
            stroke = stroke_of(value["name"])
            band = found.setdefault(stroke, Band(stroke, "", op.time_ns, end_of_all_ns))
            open_.setdefault(stroke, set()).add(value["name"])
            if isinstance(value.get("node"), str):
                band.nodes.append(value["node"])
            band.kind = op.f.partition("-")[2]
            if isinstance(value.get("client"), str):
                band.clients.append(value["client"])
            links = value.get("links")
            if isinstance(links, list) and not band.nodes:
                band.links |= frozenset(frozenset(link) for link in links if _is_link(link))
                band.sides = _sides(band.links, nodes)
            band.label = _label(band, links, value)
        elif stroke_of(value.get("fault")) in found:
            band = found[stroke_of(value["fault"])]
            left = open_[band.name]
            if "proof" in value:
                band.has_taken_hold = True
                band.proof = band.proof or str(value["proof"])
            elif isinstance(value.get("back"), str):
                band.backs.append((op.time_ns, value["back"]))
            elif value.get("healed") or "missed" in value or "skipped" in value:
                left.discard(value["fault"])
                if not left:
                    band.end_ns = op.time_ns
    return sorted(found.values(), key=lambda each: (each.begin_ns, each.name))


def stroke_of(fault: Any) -> str:
    """`kill 1/n3` is one of the faults of the stroke `kill 1`."""
    return str(fault).partition("/")[0]


def _is_link(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _label(band: Band, links: Any, told: Mapping[str, Any]) -> str:
    """`kill n1,n2`; `churn kill c3,c6`; `partition [n2] | [n1,n3]`; else how many links."""
    if band.clients:
        how = "leave" if told.get("leaves") else str(told.get("kind")).partition("_client")[0]
        return f"{band.kind} {how} {','.join(band.clients)}"
    if band.nodes:
        return f"{band.kind} {','.join(band.nodes)}"
    if band.sides:
        sides = (f"[{','.join(side)}]" for side in band.sides)
        return f"{band.kind} {' | '.join(sides)}"
    if isinstance(links, list):
        return f"{band.kind} of {len(links)} links"
    return band.kind


def _sides(cut: Collection[frozenset[str]], nodes: Sequence[str]) -> list[list[str]]:
    """The parts into which the nodes fell; empty if they still hang together."""
    left, sides = list(nodes), []
    while left:
        side, edge = [left.pop(0)], 0
        while edge < len(side):
            near = [node for node in left if frozenset((side[edge], node)) not in cut]
            left = [node for node in left if node not in near]
            side += near
            edge += 1
        sides.append(sorted(side))
    return sides if len(sides) > 1 else []


def at_work(found: Sequence[Band], time_ns: int) -> list[Band]:
    return [each for each in found if each.begin_ns <= time_ns <= each.end_ns]


def into(found: Sequence[Band], time_ns: int) -> str:
    """`3.9 s into kill n3`, or how long after the last one ended; nothing without faults."""
    now = at_work(found, time_ns)
    if now:
        last = max(now, key=lambda each: each.begin_ns)
        return f"{(time_ns - last.begin_ns) / 1e9:.1f} s into {last.label}"
    past = [each for each in found if each.end_ns < time_ns]
    if past:
        last = max(past, key=lambda each: each.end_ns)
        return f"{(time_ns - last.end_ns) / 1e9:.1f} s after {last.label} was healed"
    return "before any fault" if found else ""
