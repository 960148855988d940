"""Operations that begin in one part of a history and end in another."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from harness.history.history import History
from harness.history.op import Op
from pipeline.reading.boundaries import boundary, links
from pipeline.reading.history_rows import Pairs


def history(seed: int, rows: int = 120) -> History:
    """Processes with one operation at a time, some without a completion, and unpaired rows."""
    random, busy, ops = Random(seed), set[int](), list[Op]()
    for index in range(rows):
        process = random.randrange(-1, 8)
        type_, f = "info", "start-kill"
        if process >= 0:
            if random.random() < 0.1:
                type_, f = "ok", "assigned"
            elif random.random() < (0.9 if process in busy else 0.2):
                # Some rows end what was never begun: a line of a history may be lost.
                busy.discard(process)
                type_, f = random.choice(("ok", "fail", "info")), "send"
            else:
                busy.add(process)
                type_, f = "invoke", "send"
        ops.append(Op(index, index * 7, process, type_, f, None, None, None, None, None))  # type: ignore[arg-type]
    return History.of(ops)


def test_operations_lie_across_the_cuts() -> None:
    """Otherwise the test below would pass without any link."""
    ops = history(0).tables.ops
    first, second = links([boundary(ops.slice(0, 60), 0), boundary(ops.slice(60), 60)])
    assert first
    assert [(link.partner, link.row) for link in first] == [
        (each.row, each.partner) for each in second
    ]


@pytest.mark.parametrize("seed", range(30))
def test_the_cuts_do_not_show(seed: int) -> None:
    ops = history(seed).tables.ops
    random = Random(seed)
    cuts = sorted({0, len(ops), *(random.randrange(len(ops)) for _ in range(random.randrange(9)))})
    spans = [*pairwise(cuts)]
    parts = [ops.slice(begin, end - begin) for begin, end in spans]
    found = links([boundary(part, begin) for part, (begin, _) in zip(parts, spans, strict=True)])
    partner, latency = [], []
    for part, (begin, _), own in zip(parts, spans, found, strict=True):
        pairs = Pairs(part, begin)
        for row, other, began_ns in own:
            pairs.link(row - begin, other, began_ns)
        partner.append(pairs.partner)
        latency.append(pairs.latency_ns)
    whole = Pairs(ops)
    assert np.concatenate(partner).tolist() == whole.partner.tolist()
    assert np.concatenate(latency).tolist() == whole.latency_ns.tolist()
