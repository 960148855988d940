"""Strategies for operations of every shape that docs/reference/history.md knows."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from harness.history.flatten import flatten
from harness.history.op import TYPES, Op
from harness.history.timestamps import by_element

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
OFFSETS = st.none() | st.integers(0, 1000) | INT64
TEXT_KEYS = st.sampled_from(["t-0", "t-1", "orders-3", "t-0/name", "", "\u00e4\ud800"])
KEYS = TEXT_KEYS | st.integers(0, 5) | st.just(1 << 70)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
VALUES = INT64 | JSON


def pairs() -> st.SearchStrategy[list[Any]]:
    return st.tuples(OFFSETS, VALUES).map(list)


def micro_ops(keys: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    polled = st.dictionaries(keys, st.lists(pairs(), max_size=3), max_size=3)
    return st.one_of(
        st.tuples(st.sampled_from(["send", "put", "get"]), keys, VALUES | pairs()).map(list),
        st.just(["poll"]),
        st.tuples(st.just("poll"), polled).map(list),
        st.tuples(st.sampled_from(["append", "w", "get", "r"]), keys, VALUES).map(list),
        st.tuples(st.just("r"), keys, st.lists(VALUES, max_size=4)).map(list),
    )


def named_values(keys: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, Any]]:
    """An f, with a value that belongs to it or, now and then, does not."""
    offsets = st.dictionaries(keys, OFFSETS, max_size=3)
    listed = st.lists(keys, max_size=3)
    generation = st.none() | INT64
    group = st.text(max_size=3)
    by_f: dict[str, st.SearchStrategy[Any]] = {
        "txn": st.lists(micro_ops(keys), max_size=4),
        "leap": st.lists(micro_ops(TEXT_KEYS) | JSON.map(lambda v: ["jump", v]), max_size=4),
        "assign": listed | offsets,
        "commit": st.fixed_dictionaries(
            {
                "group": group,
                "generation": generation,
                "member": st.none() | group,
                "offsets": offsets,
            }
        ),
        "assigned": st.fixed_dictionaries(
            {"group": group, "generation": generation, "keys": listed}
        ),
        "end-offsets": st.fixed_dictionaries(
            {}, optional={"low": offsets, "high": offsets, "stable": offsets}
        ),
        "transform": st.fixed_dictionaries(
            {
                "in": st.lists(st.tuples(keys, OFFSETS).map(list), max_size=3),
                "out": st.lists(st.tuples(keys, pairs()).map(list), max_size=3),
            }
        ),
        "describe": JSON,
    }
    same_shape = {"send": "txn", "subscribe": "assign", "committed": "commit", "lost": "assigned"}
    for f, other in same_shape.items():
        by_f[f] = by_f[other]
    return st.sampled_from(sorted(by_f)).flatmap(
        lambda f: st.tuples(st.just(f), st.none() | JSON | by_f[f] | by_f[f] | by_f[f])
    )


STAMPS = st.none() | st.integers(0, 5) | st.integers(0, (1 << 63) - 1)


def timestamps_of(draw: st.DrawFn, value: Any) -> Any:
    """Timestamps of most of its records, some of them not known; or None."""
    if not isinstance(value, list) or not draw(st.booleans()):
        return None
    found: list[Any] = []
    for micro_op in value:
        name = micro_op[0] if isinstance(micro_op, list) and micro_op else None
        if name in ("send", "append", "w", "put"):
            found.append(draw(STAMPS))
        elif name == "poll" and len(micro_op) == 2 and isinstance(micro_op[1], dict):
            polled = {
                key: [draw(STAMPS) for _ in records]
                for key, records in micro_op[1].items()
                if isinstance(records, list) and records
            }
            is_known = any(stamp is not None for each in polled.values() for stamp in each)
            found.append(polled if is_known else None)
        else:
            found.append(None)
    return found if any(each is not None for each in found) else None


@st.composite
def operations(draw: st.DrawFn, keys: st.SearchStrategy[Any] = KEYS) -> list[Op]:
    """In any order of times, which are few, so that many are the same."""
    ops = []
    for index in range(draw(st.integers(0, 12))):
        f, value = draw(named_values(keys))
        timestamps = timestamps_of(draw, value)
        extra = draw(st.none() | st.dictionaries(st.sampled_from("ab"), JSON, min_size=1))
        if timestamps is not None and by_element(flatten(f, value), timestamps) is None:
            # Beside a value that has no shape they are but another field.
            timestamps, extra = None, {**(extra or {}), "timestamps": timestamps}
        ops.append(
            Op(
                index,
                draw(st.integers(0, 4)),
                draw(st.integers(-1, 3)),
                draw(st.sampled_from(TYPES)),
                f,
                value,
                draw(st.none() | st.sampled_from(["E: x", "TIMED_OUT", ""])),
                draw(st.none() | st.sampled_from(["n1", "n2"])),
                extra,
                timestamps,
            )
        )
    return ops
