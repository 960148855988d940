"""The result as a table for people and as JSON for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from bench.memory import GROWTH_BAR_BYTES, Growth
from bench.ramp import Step
from bench.rounds import Measured
from bench.verdicts import share_of_ceiling, verdicts

HEADINGS = (
    "row",
    "client",
    "system",
    "msg/s",
    "MB/s",
    "±%",
    "CPU us/msg",
    "client CPU",
    "p50/p99 us",
    "size",
    "RSS MB",
    "of ceiling",
    "against Apache Kafka",
)


def table(measured: Sequence[Measured], storage: str) -> str:
    lines: list[tuple[str, ...]] = []
    last = ""
    for one in measured:
        if one.storage != storage:
            continue
        name = f"{one.row.name}/{one.row.client}"
        first = name != last
        last = name
        lines.append(
            (
                one.row.name if first else "",
                one.row.client if first else "",
                *_cells(measured, one),
            )
        )
    return _aligned([HEADINGS, *lines])


def _cells(measured: Sequence[Measured], one: Measured) -> tuple[str, ...]:
    found = one.figures
    judged = "p99_us" if one.row.judged == "latency" else "messages_per_s"
    share = share_of_ceiling(measured, one)
    bar = one.row.ceiling_bar
    below = " BELOW" if share is not None and one.system == "ours" and share < bar else ""
    return (
        one.system,
        f"{found.messages_per_s:,.0f}",
        f"{found.mb_per_s:,.1f}",
        f"{found.spread[judged] * 100:.0f}",
        f"{found.server_us_per_message:.2f}",
        f"{found.client_share:.0%}",
        f"{found.p50_us:,.0f}/{found.p99_us:,.0f}" if found.p99_us else "",
        f"{found.stored_ratio:.2f}" if found.stored_ratio else "",
        f"{found.server_rss_mb:,.0f}",
        "" if share is None else f"{share:.2f}{below}",
        ", ".join(map(str, verdicts(measured, one))),
    )


def memory_table(growths: Sequence[Growth]) -> str:
    lines = [("system", "storage", "stored", "RSS then", "stored", "RSS then", "growth", "bar")]
    for one in growths:
        kept = one.growth_bytes <= GROWTH_BAR_BYTES
        lines.append(
            (
                one.system,
                one.storage,
                f"{one.first_bytes / 1e6:,.0f} MB",
                f"{one.rss_after_first / 2**20:,.0f} MiB",
                f"{one.last_bytes / 1e6:,.0f} MB",
                f"{one.rss_after_last / 2**20:,.0f} MiB",
                f"{one.growth_bytes / 2**20:+,.1f} MiB",
                "kept" if kept else "broken",
            )
        )
    return _aligned(lines)


def _aligned(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def as_json(
    about: Mapping[str, object],
    measured: Sequence[Measured],
    growths: Sequence[Growth],
    steps: Sequence[Step],
) -> dict[str, Any]:
    return {
        "about": dict(about),
        "rows": [
            {
                "row": one.row.name,
                "client": one.row.client,
                "storage": one.storage,
                "system": one.system,
                "judged": one.row.judged,
                "warm_rounds": one.warm_rounds,
                "client_bound": one.figures.client_bound,
                "figures": asdict(one.figures),
                "samples": [asdict(taken) for taken in one.samples],
                "of_ceiling": share_of_ceiling(measured, one),
                "ceiling_bar": one.row.ceiling_bar or None,
                "verdicts": [asdict(found) for found in verdicts(measured, one)],
            }
            for one in measured
        ],
        "memory": [{**asdict(one), "growth_bytes": one.growth_bytes} for one in growths],
        "ramp": [asdict(one) for one in steps],
    }
