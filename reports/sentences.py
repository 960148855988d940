"""What is said about a run, in words: on the terminal, in summary.txt, in CI and on the page.

Everything is worded from the results alone, so that it reads the same wherever it stands, and the
same tomorrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checkers.verdict import Validity
from harness.doubts import sentence_of
from harness.store.results import CauseFigures, Figures, RunResults, SurvivedFigures
from reports.causes import Placed, causes, records_of
from reports.served import served_sentence
from reports.skew import skew_sentence
from reports.stories import said, story
from reports.traffic import on_the_wire

_SHOWN = 3
"""Of each type; results.json has more."""
_CAUSES_MAX = 8
_FAULTS = {
    "packet": "packet fault",
    "clock": "clock fault",
    "power": "power loss",
    "disk": "disk fault",
    "wire": "wire fault",
    "compact": "compaction",
    "retention": "log deletion",
    "membership": "membership change",
    "client": "client fault",
}
"""What to count of a nemesis where its name is no fault's."""


def doubts(results: RunResults) -> list[str]:
    return [sentence_of(doubt) for doubt in results.doubts]


def reasons(results: RunResults) -> list[str]:
    """Why nothing better than unknown can be said."""
    unsure = (each for each in results.verdicts if each.validity is Validity.UNKNOWN)
    found = doubts(results) + [f"{each.checker}: {each.why}" for each in unsure]
    return found or ["nothing was checked"]


def not_judged(results: RunResults) -> list[str]:
    """Which checkers were not asked, and what the run lacks for each of them."""
    by_need: dict[str, list[str]] = {}
    for each in results.not_judged:
        by_need.setdefault(each.need, []).append(each.checker)
    return [
        f"{', '.join(checkers)}: {'it may' if len(checkers) == 1 else 'they may'} judge only a run "
        f"in which {need}"
        for need, checkers in by_need.items()
    ]


def verdict(results: RunResults) -> str:
    """In one line."""
    return f"{results.validity.value}: {detail(results)}"


def detail(results: RunResults) -> str:
    """What the verdict rests on."""
    if results.validity is Validity.INVALID:
        found = sorted(results.counts().items())
        return ", ".join(f"{count:,} {type_}" for type_, count in found)
    verdicts = results.verdicts
    if results.validity is Validity.UNKNOWN:
        return "; ".join(reasons(results))
    allowed = sum(
        each.count_of(type_)
        for each in verdicts
        for type_ in dict.fromkeys(finding.type for finding in each.found)
    )
    more = f"; the contract allows {_counted(allowed, 'finding')}" if allowed else ""
    return f"{_counted(len(verdicts), 'checker')} found no anomaly{more}"


def operations(figures: Figures) -> str:
    """Those that were counted; of a run that came to no end, none."""
    counted = {name: value for name, value in figures.items() if isinstance(value, int)}
    ended, moved = (
        ", ".join(f"{counted[name]:,} {name}" for name in names if name in counted)
        for names in (("ok", "fail", "info"), ("acknowledged", "read"))
    )
    return "; ".join(said for said in (ended, moved) if said)


def survived(figures: SurvivedFigures) -> str:
    """Which faults took hold, and what went on meanwhile, in one sentence."""
    said = [_faults(name, count, figures) for name, count in figures["faults"].items()]
    elections = figures.get("elections")
    if elections is not None:
        said.append(_counted(elections, "election"))
    said.append(f"{_counted(figures['writes'], 'write')} acknowledged meanwhile")
    return f"survived: {'; '.join(said)}"


def _faults(name: str, count: int, figures: SurvivedFigures) -> str:
    said = _counted(count, _FAULTS.get(name, name))
    cut_off = figures.get("leaders_cut_off", 0) if name == "partition" else 0
    if not cut_off:
        return said
    whose = "" if count == 1 else "each " if cut_off == count else f"{cut_off:,} of them "
    return f"{said}, {whose}cutting a leader off"


def _counted(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun}es" if noun.endswith("s") else f"{count:,} {noun}s"


def contracts(results: RunResults) -> list[str]:
    """The promises that were broken, each once."""
    said = (anomaly.contract for anomaly in results.anomalies)
    return [sentence for sentence in dict.fromkeys(said) if sentence]


def again(results: RunResults) -> str:
    return f"run it again with: {results.command}"


def findings(results: RunResults) -> list[str]:
    """What was found, by cause."""
    if not results.causes:
        return _by_witnesses(results)
    lines = [each["sentence"] for each in _most_telling(results.causes)]
    return lines + _left(len(results.causes) - _CAUSES_MAX)


def _most_telling(found: Sequence[CauseFigures]) -> list[CauseFigures]:
    """As many as there is room for, in their order: one of every type before a second of any, so
    that many causes of one type do not hide another type."""
    types: set[str] = set()
    of_new_types: list[int] = []
    for at, each in enumerate(found):
        if not types.issuperset(each["types"]):
            of_new_types.append(at)
        types.update(each["types"])
    chosen = list(dict.fromkeys([*of_new_types, *range(len(found))]))[:_CAUSES_MAX]
    return [found[at] for at in sorted(chosen)]


def _left(count: int) -> list[str]:
    if count <= 0:
        return []
    return [f"and {count:,} more cause{'s'[: count > 1]}; the page of the run shows all of them"]


def _by_witnesses(results: RunResults) -> list[str]:
    """As far as the witnesses alone tell causes apart: of a run whose history cannot be read."""
    counted = results.counts()
    found = causes([Placed(each) for each in results.anomalies], counted)
    of_records = [each for each in found if each.records is not None]
    lines = [story(each) for each in of_records[:_CAUSES_MAX]]
    lines += _left(len(of_records) - _CAUSES_MAX)
    for cause in sorted(
        (each for each in found if each.records is None), key=lambda one: one.types
    ):
        (type_,) = cause.types
        told = [each.anomaly for each in cause.findings[:_SHOWN]]
        lines += [f"{type_}: {said(each)}" for each in told]
        # Those that are not kept may be of either sort; they are counted where all kept are alike.
        is_all = all(records_of(each) is None for each in results.anomalies if each.type == type_)
        count = counted[type_] if is_all else len(cause.findings)
        if count > len(told):
            lines.append(f"{type_}: and {count - len(told):,} more")
    return lines


def _unpublished(figures: Figures) -> str | None:
    topic = figures.get("history_topic")
    if topic is None or not topic["not_published"]:
        return None
    why = f": {topic['why']}" if topic["why"] else ""
    return (
        f"history topic: {topic['not_published']:,} records of a history of {topic['rows']:,} rows "
        f"were not published to {topic['topic']}{why}"
    )


def summary(results: RunResults, directory: Path | str) -> list[str]:
    """The verdict, what was found with what it breaks, and how to have it all again."""
    lines = [verdict(results), *(f"  {line}" for line in findings(results))]
    lines += [f"  contract: {sentence}" for sentence in contracts(results)]
    if results.consistency:
        lines.append(f"  consistency: {results.consistency}")
    for each in results.not_judged:
        lines.append(f"  not judged: {each.checker}, because it needs that {each.need}")
    counted = operations(results.figures)
    if counted:
        lines.append(f"  {counted}")
    wire = on_the_wire(results.figures.get("traffic", {}))
    if wire:
        lines.append(f"  on the wire: {wire}")
    partitions = results.figures.get("partitions", {})
    skew = skew_sentence({key: each["acknowledged"] for key, each in partitions.items()})
    if skew:
        lines.append(f"  skew: {skew}")
    unpublished = _unpublished(results.figures)
    if unpublished:
        lines.append(f"  {unpublished}")
    served = served_sentence(results.figures.get("served_again", []))
    if served:
        lines.append(f"  {served}")
    lived_through = results.figures.get("survived")
    if results.validity is Validity.VALID and lived_through:
        lines.append(f"  {survived(lived_through)}")
    lines.append(f"  {directory}")
    lines.append(again(results))
    return lines
