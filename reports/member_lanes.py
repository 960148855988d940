"""Consumer groups under the time axis of the whole run: a lane for each member, with what it owned.

Every shape has a sentence (`told`) for hovering, for the keyboard and for screen readers. A lane
never has more than a few hundred shapes, however often ownership changed: what would be narrower
than a few pixels is drawn together and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reports.lanes import width_of
from reports.ownership import Absence, Event, EventKind, Group, Life, Member, Overlap
from reports.partition_ranges import ranges, without_topic
from reports.stretches import Stretch, owned_stretches, unowned_stretches
from reports.strip import Scale
from reports.wording import cut

HEAD, LANE = 24.0, 26.0
LANES_MAX = 24
_NARROW = 3.0
"""Shapes that begin closer together than this are drawn as one."""
_NEAR = 9.0
"""Signs closer than this share a place."""
_ONE_LABEL = 2.5
"""Bars with the same partitions and smaller gaps than this share a label."""
_NAME_MAX = 20
_TOLD_MAX = 4

BarKind = Literal["owned", "busy", "stale", "guilty", "nobody", "absent"]
_WORDS: dict[EventKind, str] = {
    "joined": "subscribed",
    "left": "left the group",
    "killed": "was killed",
    "ended": "ended",
    "lost": "lost its partitions",
    "refused": "had a commit refused",
}
_RANK: tuple[EventKind, ...] = ("killed", "refused", "lost", "ended", "left", "joined")
"""Of several events at one place the first of these is drawn."""


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    width: float
    kind: BarKind
    told: str


@dataclass(frozen=True, slots=True)
class Label:
    x: float
    text: str
    is_outside: bool = False
    """Whether it stands on the paper, not on a bar."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Something happened to a member."""

    x: float
    kind: EventKind
    told: str


@dataclass(frozen=True, slots=True)
class Lane:
    name: str
    y: float
    summary: str
    """The whole lane in a sentence."""
    lives: tuple[tuple[float, float], ...] = ()
    """From where to where it was a member."""
    behind: tuple[Bar, ...] = ()
    bars: tuple[Bar, ...] = ()
    """In the order of time."""
    over: tuple[Bar, ...] = ()
    """Partitions that others owned, too."""
    labels: tuple[Label, ...] = ()
    signs: tuple[Sign, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupLanes:
    head: Lane
    """What nobody owned."""
    members: tuple[Lane, ...]
    left_out: int = 0
    """Members for which there was no room."""


def names_of(groups: Sequence[Group]) -> list[str]:
    """Everything that stands at the left, to make room for it."""
    return [
        *(cut(group.name, _NAME_MAX) for group in groups),
        *(f"  {_name(member)}" for group in groups for member in group.members.values()),
    ]


def group_lanes(
    groups: Sequence[Group], scale: Scale, top: float
) -> tuple[tuple[GroupLanes, ...], float]:
    """The lanes, and where they end."""
    found = []
    room = max(1, LANES_MAX // max(1, len(groups)))
    y = top
    for group in groups:
        shown = _chosen(group, room)
        head = _head(group, scale, y)
        y += HEAD
        lanes = []
        for member in shown:
            lanes.append(_lane(group, member, scale, y))
            y += LANE
        found.append(GroupLanes(head, tuple(lanes), len(group.members) - len(shown)))
        y += 6
    return tuple(found), y


def _chosen(group: Group, most: int) -> list[Member]:
    """All, if there is room; those with two owners first, then those that owned the most often."""
    guilty = {name for each in group.overlaps if each.is_guilty for name in _both(each)}
    ranked = sorted(
        group.members.values(), key=lambda one: (one.client not in guilty, -len(one.owned))
    )
    kept = {member.client for member in ranked[:most]}
    return sorted(
        (member for member in group.members.values() if member.client in kept),
        key=lambda one: (one.client[:1], int(one.client[1:])),
    )


def _both(overlap: Overlap) -> tuple[str, str]:
    return overlap.holder, overlap.taker


def _name(member: Member) -> str:
    is_static = any(life.instance for life in member.lives)
    return f"{member.client} static" if is_static else member.client


def _head(group: Group, scale: Scale, y: float) -> Lane:
    stretches = unowned_stretches(group)
    lost_ns = sum(each.end_ns - each.begin_ns for each in stretches)
    strategy = f", {group.strategy}" if group.strategy else ""
    several = len(group.members) > 1
    summary = (
        f"Group {group.name}{strategy}: {len(group.members)} member{'s' if several else ''}; "
        f"for {lost_ns / 1e9:.1f} s in all some partition had no owner"
    )

    def told(each: Stretch) -> str:
        return f"nobody in group {group.name} owns {_list(each.keys)}, {_when(each)}"

    return Lane(
        cut(group.name, _NAME_MAX),
        y,
        summary,
        bars=_bars(stretches, scale, "nobody", told),
        labels=_labels(stretches, scale, ("nobody owns ", "nobody: ", ""), is_outside=True),
    )


def _lane(group: Group, member: Member, scale: Scale, y: float) -> Lane:
    owned = owned_stretches(member.owned)

    def told(each: Stretch) -> str:
        within = ""
        if each.generations:
            numbers = ", ".join(map(str, each.generations))
            within = f" since {group.generation_word} {numbers}"
        ended = f"; {', '.join(each.ends)}" if each.ends else ""
        return f"{member.client} owns {_list(each.keys)}{within}, {_when(each)}{ended}"

    return Lane(
        f"  {_name(member)}",
        y,
        _summary(group, member, owned),
        lives=tuple(_lives(member.lives, scale)),
        behind=tuple(_absent(member.client, each, scale) for each in member.absences),
        bars=_bars(owned, scale, "owned", told),
        over=tuple(_overlaps(group, member, scale)),
        labels=(*_labels(owned, scale, ("",)), *_absent_labels(member, owned, scale)),
        signs=tuple(_signs(member, scale)),
    )


def _summary(group: Group, member: Member, owned: Sequence[Stretch]) -> str:
    counted = {kind: sum(each.kind == kind for each in member.events) for kind in _RANK}
    static = sorted({life.instance for life in member.lives if life.instance})
    held_ns = sum(each.end_ns - each.begin_ns for each in owned)
    parts = [
        f"{member.client} of group {group.name}" + (f", static as {static[0]}" if static else ""),
        f"a member {len(member.lives)} times" if len(member.lives) > 1 else "a member once",
        f"owner for {held_ns / 1e9:.1f} s",
        *(
            f"{kind} {counted[kind]} times"
            for kind in ("killed", "lost", "refused")
            if counted[kind]
        ),
    ]
    return ", ".join(parts)


def _lives(lives: Iterable[Life], scale: Scale) -> Iterable[tuple[float, float]]:
    """Joined where the gap could not be seen."""
    last: tuple[float, float] | None = None
    for life in lives:
        begin, end = scale.x(life.begin_ns), scale.x(life.end_ns)
        if last is not None and begin - last[1] < 1:
            last = (last[0], end)
            continue
        if last is not None:
            yield last
        last = (begin, end)
    if last is not None:
        yield last


def _bars(
    stretches: Sequence[Stretch], scale: Scale, kind: BarKind, told: Callable[[Stretch], str]
) -> tuple[Bar, ...]:
    """Each stretch by itself, but where several begin within a few pixels, one for all of them."""
    together: list[list[Stretch]] = []
    for each in stretches:
        first = together[-1][0] if together else None
        if first is not None and scale.x(each.begin_ns) - scale.x(first.begin_ns) < _NARROW:
            together[-1].append(each)
        else:
            together.append([each])
    found = []
    for some in together:
        x = scale.x(some[0].begin_ns)
        width = max(1.0, round(scale.x(some[-1].end_ns) - x, 1))
        if len(some) == 1:
            found.append(Bar(x, width, kind, told(some[0])))
        else:
            said = "; ".join(told(each) for each in some[-_TOLD_MAX:])
            busy: BarKind = "busy" if kind == "owned" else kind
            more = f"{len(some)} in short order, the last: " if len(some) > _TOLD_MAX else ""
            # What matters is how it came out: the last one is drawn in full.
            found.append(Bar(x, width, kind if _is_long(some[-1], scale) else busy, more + said))
    return tuple(found)


def _is_long(each: Stretch, scale: Scale) -> bool:
    return scale.x(each.end_ns) - scale.x(each.begin_ns) >= _NARROW


def _labels(
    stretches: Sequence[Stretch], scale: Scale, before: Sequence[str], *, is_outside: bool = False
) -> tuple[Label, ...]:
    """The partitions, in as many words as fit; once for bars that only short gaps part."""
    runs: list[Stretch] = []
    for each in stretches:
        last = runs[-1] if runs else None
        if (
            last is not None
            and last.keys == each.keys
            and scale.x(each.begin_ns) - scale.x(last.end_ns) < _ONE_LABEL
        ):
            runs[-1] = replace(last, end_ns=each.end_ns)
        else:
            runs.append(each)
    found = []
    for each in runs:
        x, end = scale.x(each.begin_ns), scale.x(each.end_ns)
        for text in _spellings(each.keys, before):
            if width_of(text) + 8 <= end - x:
                found.append(Label(x + 4, text, is_outside=is_outside))
                break
    return tuple(found)


def _spellings(keys: Sequence[str], before: Sequence[str]) -> list[str]:
    """The partitions by number if there is room, or else how many they are."""
    full, bare = "; ".join(ranges(keys)), without_topic(keys)
    texts = [full] if bare is None else [full, bare]
    found = [f"{word}{text}" for word in before for text in texts]
    return [*found, f"{len(keys)} partitions"] if len(keys) > 2 else found


def _overlaps(group: Group, member: Member, scale: Scale) -> Iterable[Bar]:
    """In the lane of the member that holds what was taken; if it is guilty, in both."""
    together: dict[tuple[int, int, bool, str, str], list[Overlap]] = {}
    for each in group.overlaps:
        is_here = member.client == each.holder or (each.is_guilty and member.client == each.taker)
        if is_here:
            at = (each.begin_ns, each.end_ns, each.is_guilty, each.holder, each.taker)
            together.setdefault(at, []).append(each)
    for (begin_ns, end_ns, is_guilty, holder, taker), some in sorted(together.items()):
        mark = scale.mark(begin_ns, end_ns, "")
        keys = _list([each.key for each in some])
        old, new = some[0].generations
        word = group.generation_word
        when = f"{_time(begin_ns)} to {_time(end_ns)}"
        if is_guilty:
            told = f"two owners of {keys} in {word} {new}: {holder} and {taker}, {when}"
        else:
            since = "" if new is None else f" in {word} {new}"
            told = f"{holder} holds {keys}, which {taker} was given{since}, {when}"
            told += "" if old is None else f": {holder} is still in {word} {old} or was not told"
        yield Bar(mark.x, max(3.0, mark.width), "guilty" if is_guilty else "stale", told)


def _absent(client: str, absence: Absence, scale: Scale) -> Bar:
    mark = scale.mark(absence.begin_ns, absence.end_ns, "")
    when = f"{_time(absence.begin_ns)} to {_time(absence.end_ns)}"
    return Bar(mark.x, mark.width, "absent", f"{client} is {absence.word}, {when}")


def _absent_labels(member: Member, owned: Sequence[Stretch], scale: Scale) -> Iterable[Label]:
    """Where the member owns nothing for long enough meanwhile."""
    for each in member.absences:
        busy = [one for one in owned if one.end_ns > each.begin_ns and one.begin_ns < each.end_ns]
        begin_ns = max([each.begin_ns, *(one.end_ns for one in busy)])
        x = scale.x(min(begin_ns, each.end_ns)) + 11
        if x + width_of(each.word) + 4 <= scale.x(each.end_ns):
            yield Label(x, each.word, is_outside=True)


def _signs(member: Member, scale: Scale) -> Iterable[Sign]:
    together: list[list[Event]] = []
    for each in sorted(member.events, key=lambda one: one.time_ns):
        near = together and scale.x(each.time_ns) - scale.x(together[-1][0].time_ns) < _NEAR
        if near:
            together[-1].append(each)
        else:
            together.append([each])
    for some in together:
        worst = min(some, key=lambda each: _RANK.index(each.kind))
        said = "; ".join(_said(member, each) for each in some[-_TOLD_MAX:])
        more = len(some) - _TOLD_MAX
        yield Sign(
            scale.x(worst.time_ns), worst.kind, f"{more} more, then {said}" if more > 0 else said
        )


def _said(member: Member, event: Event) -> str:
    detail = f" ({cut(event.told)})" if event.told else ""
    who = member.client
    if event.kind == "joined":
        life = next((each for each in member.lives if each.begin_ns == event.time_ns), None)
        who += f", member id {cut(life.member, 40)}," if life is not None and life.member else ""
    return f"{who} {_WORDS[event.kind]} at {_time(event.time_ns)}{detail}"


def _list(keys: Sequence[str]) -> str:
    return cut("; ".join(ranges(keys)))


def _when(each: Stretch) -> str:
    return f"{_time(each.begin_ns)} to {_time(each.end_ns)}"


def _time(time_ns: int) -> str:
    return f"{time_ns / 1e9:.2f} s"
