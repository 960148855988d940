"""Columns that kernels have in common, by what their rows are."""

from __future__ import annotations

from typing import NamedTuple

from checkers.arrays import Bools, Ints8, Ints32, Ints64


class Rows(NamedTuple):
    """By operation: what it is, what it does (1 sends, 2 polls, 3 both), and its elements. `plain`:
    those are records of one key, side by side in its log, with integers for values. `senders` and
    `pollers` are the numbers of those that send, or poll, or change what is assigned."""

    outcome: Ints8
    type: Ints8
    process: Ints32
    roles: Ints8
    begin: Ints64
    end: Ints64
    plain: Bools
    senders: Ints32
    pollers: Ints32


class Seen(NamedTuple):
    """What there is: how many elements of each kind; by key the least and greatest offset; how far
    the values of each producer go; and, in `facts`, how many values there are, the least and
    greatest upper half, how many are not numbers, how many elements have an offset."""

    kinds: Ints64
    lowest: Ints64
    highest: Ints64
    width: Ints64
    facts: Ints64


class Cells(NamedTuple):
    """By element. `number`: of the value, -1 where there is none."""

    kind: Ints8
    key: Ints32
    offset: Ints64
    value: Ints64
    told: Bools
    number: Ints32


class Places(NamedTuple):
    """By value, -1 where there is nothing to tell: its key; who wrote it, as surely as possible;
    the first element that shows it, in an ok poll and in any other; its first and last slot."""

    owner: Ints32
    writer: Ints32
    reader: Ints32
    other_reader: Ints32
    first: Ints32
    last: Ints32


class Log(NamedTuple):
    """By slot of a log about which nothing is odd, -1 where there is nothing to tell: its value;
    the ok operation that sent it, or -2 - one that was not known to be; the first that showed it,
    or -2 - the element, if that operation is not plain."""

    held: Ints32
    sender: Ints32
    shown: Ints32


class Ranks(NamedTuple):
    """By key its first offset and slot, and whether its log is doubtful; by value its first slot,
    and its rank if any log is."""

    base: Ints64
    start: Ints64
    doubtful: Bools
    first: Ints32
    of_value: Ints32


class Lanes(NamedTuple):
    """One for each process on each key. By process: where its lanes begin, in blocks of one for
    each key, and since when it is assigned what it is; by block: whose it is. By lane: in which
    operation it was last ok, with which element, of which rank; in which it was last at all; and
    the last element that was acknowledged, at which offset."""

    block: Ints32
    epoch: Ints32
    owner: Ints32
    kept: Ints32
    before: Ints64
    before_at: Ints64
    since: Ints32
    within: Ints64
    within_at: Ints64
    acked: Ints64
    acked_at: Ints64
