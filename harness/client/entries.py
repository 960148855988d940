"""Entries of a ledger in the values of records: each says what it does to which part of a deal.

A deal is one transaction that writes to several partitions: a transfer takes an amount from one
account and adds it to another, an order reserves an item, takes the payment and notes the order.
The value of a record is an int64 as any other (payload.py), `producer << 32 | sequence`, and the
sequence is `deal << 6 | part << 4 | parts << 2 | amount`. So each entry tells by itself which
other entries belong to it.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.client.payload import value_of

AMOUNTS = (1, 2, 3)
_AMOUNT_BITS = 2
_COUNT_BITS = 2
_PART_BITS = 2
_BITS = _AMOUNT_BITS + _COUNT_BITS + _PART_BITS
_SEQUENCE = (1 << 32) - 1


class Entry(NamedTuple):
    deal: int
    """Number of the deal, unique in a run: producer << 32 | the client's own count."""
    part: int
    parts: int
    """How many entries the deal has."""
    amount: int


def entry_value(client: int, deal: int, part: int, parts: int, amount: int) -> int:
    """`client` counts from 0, `part` from 0 below `parts`, which is at most 3."""
    low = part << (_AMOUNT_BITS + _COUNT_BITS) | parts << _AMOUNT_BITS | amount
    return value_of(client, deal << _BITS | low)


def plain_value(client: int, deal: int) -> int:
    """Of a record that is no entry, such as a write that tries whether a partition serves."""
    return value_of(client, deal << _BITS)


def entry_of(value: object) -> Entry | None:
    """None for a value that is no entry."""
    if type(value) is not int or value < 1 << 32:
        return None
    sequence = value & _SEQUENCE
    amount = sequence & (1 << _AMOUNT_BITS) - 1
    parts = sequence >> _AMOUNT_BITS & (1 << _COUNT_BITS) - 1
    part = sequence >> (_AMOUNT_BITS + _COUNT_BITS) & (1 << _PART_BITS) - 1
    if part >= parts:
        return None
    return Entry(value & ~_SEQUENCE | sequence >> _BITS, part, parts, amount)
