"""Many partitions in few words: `orders 0-3, 7`."""

from __future__ import annotations

from collections.abc import Iterable


def ranges(keys: Iterable[str]) -> list[str]:
    """One text for each topic, then the keys that name no partition."""
    topics, others = _by_topic(keys)
    return [f"{topic} {_numbers(found)}" for topic, found in sorted(topics.items())] + others


def without_topic(keys: Iterable[str]) -> str | None:
    """`0-3, 7` if all are of one topic."""
    topics, others = _by_topic(keys)
    return None if others or len(topics) != 1 else _numbers(*topics.values())


def in_order(keys: Iterable[str]) -> tuple[str, ...]:
    """By topic and number, so that partition 10 comes after 9."""
    return tuple(sorted(set(keys), key=_place))


def _place(key: str) -> tuple[str, int]:
    topic, _, number = key.rpartition("-")
    return (topic, int(number)) if topic and _is_number(number) else (key, -1)


def _by_topic(keys: Iterable[str]) -> tuple[dict[str, list[int]], list[str]]:
    topics: dict[str, list[int]] = {}
    others = []
    for key in in_order(keys):
        topic, number = _place(key)
        if number < 0:
            others.append(key)
        else:
            topics.setdefault(topic, []).append(number)
    return topics, others


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _numbers(numbers: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
