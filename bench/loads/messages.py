"""The values that every load sends: text that compresses as event logs do."""

from __future__ import annotations

import random

VALUE_BYTES = 1024
_WORDS = "order user cart item price total stock region carrier invoice status event".split()


def values(count: int, seed: int = 1) -> list[bytes]:
    """Distinct values of exactly 1 KiB."""
    chance = random.Random(seed)
    return [_value(chance) for _ in range(count)]


def _value(chance: random.Random) -> bytes:
    text = f'{{"id": {chance.getrandbits(64)}'
    while len(text) < VALUE_BYTES:
        number = chance.getrandbits(40)
        name, word = _WORDS[number % 12], _WORDS[number // 12 % 12]
        text += f', "{name}_{number % 20}": "{word}", "{word}_id": {number >> 8}'
    return text[:VALUE_BYTES].encode()
