"""Compaction: small batches of the lake become one, without the rows that were replaced.

An ingest every night adds a few files to every table, and a query opens each of them. Large
batches stay as they are, so that a row is not rewritten at each compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.lake import Lake
from pipeline.schema import TABLES

SMALL_BYTES: Final = 256 << 20
DUE_AT: Final = 16
"""Number of small batches that an ingest compacts at its end."""
_FILE_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    batches: int
    """Number of batches that became one."""
    bytes_before: int
    bytes_after: int
    removed: tuple[str, ...]
    """Batches whose files were removed, those of killed commands among them."""


def is_due(lake: Lake) -> bool:
    return len(lake.snapshot.batches) >= DUE_AT and len(_small(lake, _sizes(lake))) >= DUE_AT


def compact(lake: Lake, say: Callable[[str], None] = lambda _: None) -> Compacted:
    """Rewrite small batches and those with hidden rows, and remove files that no entry names."""
    sizes = _sizes(lake)
    chosen = _chosen(lake, sizes)
    before = sum(sizes[batch] for batch in chosen)
    fresh = _rewritten(lake, chosen, before, say) if chosen else None
    removed = lake.collect_garbage()
    after = before if fresh is None else sum(_sizes(lake, [fresh]).values())
    return Compacted(
        batches=len(chosen), bytes_before=before, bytes_after=after, removed=tuple(removed)
    )


def merge_small(lake: Lake, say: Callable[[str], None]) -> None:
    """Same as `compact`, but files stay for queries that are reading them; the next ingest removes
    them."""
    sizes = _sizes(lake)
    small = _small(lake, sizes)
    _rewritten(lake, small, sum(sizes[batch] for batch in small), say)


def _chosen(lake: Lake, sizes: dict[str, int]) -> list[str]:
    """Small batches, if there are several, and batches with rows that are hidden."""
    with_hidden = {batch for _, batch, _ in lake.snapshot.hidden}
    small = _small(lake, sizes)
    chosen = with_hidden | set(small if len(small) > 1 else ())
    return [batch for batch in lake.snapshot.batches if batch in chosen]


def _small(lake: Lake, sizes: dict[str, int]) -> list[str]:
    return [batch for batch in lake.snapshot.batches if sizes[batch] < SMALL_BYTES]


def _sizes(lake: Lake, batches: Sequence[str] | None = None) -> dict[str, int]:
    wanted = lake.snapshot.batches if batches is None else batches
    return {
        batch: sum(lake.log.size(name, f"batch={batch}") for name in TABLES) for batch in wanted
    }


def _rewritten(lake: Lake, batches: Sequence[str], total: int, say: Callable[[str], None]) -> str:
    from pyspark.sql import functions as F  # noqa: N812

    fresh = lake.new_batch()
    shares = max(1, total // _FILE_BYTES)
    for name in TABLES:
        rows = lake.table(name, batches).drop("batch")
        if not rows.isEmpty():
            say(f"compacting {name}")
            share = F.pmod(F.hash("run"), F.lit(shares))
            lake.write(name, rows.repartition("date", share), fresh)
    lake.commit("compact", adds=[fresh], removes=batches)
    return fresh
