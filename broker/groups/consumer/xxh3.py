"""The 64-bit hash XXH3 with seed 0, which Kafka uses to notice changes of subscribed topics.

Written from the algorithm's specification. Only 64 bits of each intermediate value count.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK = (1 << 64) - 1
_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_STRIPE = 64
_STRIPES_PER_BLOCK = (len(_SECRET) - _STRIPE) // 8
_LANES = Struct("<8Q")
_SECRET_LANES = [_LANES.unpack_from(_SECRET, at) for at in range(len(_SECRET) - _STRIPE + 1)]


def xxh3_64(data: bytes) -> int:
    """The hash, from 0 to 2**64 - 1."""
    if len(data) > 240:
        return _long(data)
    for most, hashed in _BY_LENGTH:
        if len(data) <= most:
            return hashed(data)
    return _up_to_240(data)


def _word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _secret(at: int) -> int:
    return _word(_SECRET, at)


def _folded_product(left: int, right: int) -> int:
    product = left * right
    return (product & _MASK) ^ (product >> 64)


def _mixed(data: bytes, at: int, secret_at: int) -> int:
    return _folded_product(
        _word(data, at) ^ _secret(secret_at), _word(data, at + 8) ^ _secret(secret_at + 8)
    )


def _avalanche(value: int) -> int:
    value &= _MASK
    value = ((value ^ (value >> 37)) * 0x165667919E3779F9) & _MASK
    return value ^ (value >> 32)


def _older_avalanche(value: int) -> int:
    value = ((value ^ (value >> 33)) * _P64[1]) & _MASK
    value = ((value ^ (value >> 29)) * _P64[2]) & _MASK
    return value ^ (value >> 32)


def _empty(_: bytes) -> int:
    return _older_avalanche(_secret(56) ^ _secret(64))


def _up_to_3(data: bytes) -> int:
    size = len(data)
    combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
    return _older_avalanche(combined ^ _word(_SECRET, 0, 4) ^ _word(_SECRET, 4, 4))


def _up_to_8(data: bytes) -> int:
    size = len(data)
    value = (_word(data, size - 4, 4) + (_word(data, 0, 4) << 32)) ^ _secret(8) ^ _secret(16)
    value ^= (value << 49 | value >> 15) ^ (value << 24 | value >> 40)
    value = ((value & _MASK) * 0x9FB21C651E98DF25) & _MASK
    value = ((value ^ ((value >> 35) + size)) * 0x9FB21C651E98DF25) & _MASK
    return value ^ (value >> 28)


def _up_to_16(data: bytes) -> int:
    size = len(data)
    low = _word(data, 0) ^ _secret(24) ^ _secret(32)
    high = _word(data, size - 8) ^ _secret(40) ^ _secret(48)
    swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
    return _avalanche(size + swapped + high + _folded_product(low, high))


def _up_to_128(data: bytes) -> int:
    size = len(data)
    value = size * _P64[0]
    for step in range((size - 1) // 32, -1, -1):
        value += _mixed(data, 16 * step, 32 * step)
        value += _mixed(data, size - 16 * (step + 1), 32 * step + 16)
    return _avalanche(value)


def _up_to_240(data: bytes) -> int:
    size = len(data)
    value = size * _P64[0] + sum(_mixed(data, at, at) for at in range(0, 128, 16))
    value = _avalanche(value)
    for at in range(128, size // 16 * 16, 16):
        value += _mixed(data, at, at - 128 + 3)
    return _avalanche(value + _mixed(data, size - 16, 136 - 17))


_BY_LENGTH: tuple[tuple[int, Callable[[bytes], int]], ...] = (
    (0, _empty),
    (3, _up_to_3),
    (8, _up_to_8),
    (16, _up_to_16),
    (128, _up_to_128),
)


def _long(data: bytes) -> int:
    lanes = [_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0]]
    last = len(data) - 1
    for number in range(last // _STRIPE):
        place = number % _STRIPES_PER_BLOCK
        if number and not place:
            _scramble(lanes)
        _accumulate(lanes, data, number * _STRIPE, 8 * place)
    if last // _STRIPE and last // _STRIPE % _STRIPES_PER_BLOCK == 0:
        _scramble(lanes)
    _accumulate(lanes, data, len(data) - _STRIPE, len(_SECRET) - _STRIPE - 7)
    value = len(data) * _P64[0]
    for pair in range(4):
        value += _folded_product(
            lanes[2 * pair] ^ _secret(11 + 16 * pair),
            lanes[2 * pair + 1] ^ _secret(11 + 16 * pair + 8),
        )
    return _avalanche(value)


def _accumulate(lanes: list[int], data: bytes, at: int, secret_at: int) -> None:
    keys = _SECRET_LANES[secret_at]
    for lane, word in enumerate(_LANES.unpack_from(data, at)):
        key = word ^ keys[lane]
        lanes[lane ^ 1] = (lanes[lane ^ 1] + word) & _MASK
        lanes[lane] = (lanes[lane] + (key & 0xFFFFFFFF) * (key >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    for lane, key in enumerate(_SECRET_LANES[len(_SECRET) - _STRIPE]):
        lanes[lane] = ((lanes[lane] ^ (lanes[lane] >> 47) ^ key) * _P32[0]) & _MASK
