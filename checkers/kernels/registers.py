"""Registers that transactions write and read: who wrote what, and which reads are of others."""

from __future__ import annotations

import numpy as np

from checkers.arrays import Bools, Ints8, Ints32, Ints64
from checkers.kernels import array_kernel, kernel
from harness.history.kinds import APPEND, READ, WRITE


@kernel
def register_writers(
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    key: Ints32,
    number: Ints32,
    writer: Ints32,
    written: Ints64,
    final: Ints8,
) -> None:
    """Who wrote each value, as surely as possible, where, and whether it was their last there."""
    for op in range(outcome.size):
        how = outcome[op]
        if how == 0:
            continue
        for element in range(begin[op], end[op]):
            value = number[element]
            if kind[element] != WRITE or value < 0:
                continue
            before = writer[value]
            if before >= 0 and outcome[before] < how:
                continue
            writer[value], written[value], final[value] = op, element, 1
            for other in range(element + 1, end[op]):
                if kind[other] == WRITE and key[other] == key[element]:
                    final[value] = 0
                    break


@array_kernel
def updates(
    op: Ints32, element: Ints64, begin: Ints64, end: Ints64, kind: Ints8, key: Ints32
) -> Bools:
    """Reads that are the first thing done with a key, and are followed by a write to it."""
    found = np.zeros(op.size, np.bool_)
    for read in range(op.size):
        mine, first, wrote = key[element[read]], True, False
        for other in range(begin[op[read]], end[op[read]]):
            if key[other] == mine:
                if other < element[read]:
                    first = False
                elif kind[other] in (APPEND, WRITE):
                    wrote = True
        found[read] = first and wrote
    return found


@kernel
def outer_reads(
    outcome: Ints8,
    begin: Ints64,
    end: Ints64,
    kind: Ints8,
    key: Ints32,
    number: Ints32,
    told: Bools,
    outer: Ints64,
    outer_op: Ints32,
    inner: Ints64,
) -> tuple[int, int]:
    """Reads of ok operations that come before anything else they do with that key; and those that
    contradict what their own operation read or wrote before. Returns how many of each."""
    reads, wrong = 0, 0
    for op in range(outcome.size):
        if outcome[op] != 1:
            continue
        for element in range(begin[op], end[op]):
            if kind[element] != READ:
                continue
            before = -1
            for other in range(begin[op], element):
                if key[other] == key[element] and (kind[other] == READ or kind[other] == WRITE):
                    before = other
            if before < 0:
                outer[reads], outer_op[reads] = element, op
                reads += 1
            elif told[element] != told[before] or number[element] != number[before]:
                if wrong < inner.size:
                    inner[wrong] = element
                wrong += 1
    return reads, wrong
