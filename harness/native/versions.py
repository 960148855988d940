"""Which version of each API our client speaks: the newest of both sides, a pinned or a drawn one.

    newest                 what every client does that is up to date
    random                 each client draws one version for each API, by the seed of the run
    Produce=9,Fetch=12     these in this very version, the others in the newest

The version of EndTxn decides about transactions: up to 4 it is the first protocol, from 5 on that
of KIP-890, which a broker offers by the feature transaction.version. EndTxn=4 pins the first one.

A drawn version is one that both sides know and that can do what is asked: a static member needs
JoinGroup 5, say. A pinned one is spoken whatever is asked, because somebody wants to see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from broker.protocol.apis import API_VERSIONS, ApiKey
from harness.decisions import Decisions

NEWEST = "newest"
RANDOM = "random"

_BY_NAME = {key.name.title().replace("_", ""): key for key in API_VERSIONS}
"""By Kafka's names: ListOffsets."""


_LAST_OF_FIRST = {ApiKey.PRODUCE: 11, ApiKey.TXN_OFFSET_COMMIT: 4, ApiKey.END_TXN: 4}
"""Last versions of the first protocol of transactions."""


@dataclass(frozen=True, slots=True)
class Versions:
    pinned: Mapping[ApiKey, int] = field(default_factory=dict)
    draw: Callable[[ApiKey], float] | None = None
    """In [0, 1): the place of the version in the range of possible ones."""

    @property
    def pins_first_txn(self) -> bool:
        """Whether a request is pinned to a version that has no place in the second protocol of
        transactions (KIP-890)."""
        return any(self.pinned.get(key, last + 1) <= last for key, last in _LAST_OF_FIRST.items())

    def of(self, key: ApiKey, lowest: int, highest: int) -> int:
        """The version to speak, of this range if none is pinned."""
        pinned = self.pinned.get(key)
        if pinned is not None:
            return pinned
        if self.draw is None:
            return highest
        return lowest + int(self.draw(key) * (highest - lowest + 1))


NEWEST_OF_BOTH = Versions()


def versions_of(text: str, seed: int, client_id: str) -> Versions:
    """ValueError with a sentence for what is none of the three."""
    if text == NEWEST:
        return NEWEST_OF_BOTH
    if text == RANDOM:
        decisions = Decisions(seed)
        return Versions(draw=lambda key: decisions.of("version", f"{client_id} {key.name}").at(0))
    return Versions(dict(_pin(word.strip()) for word in text.split(",")))


def _pin(word: str) -> tuple[ApiKey, int]:
    name, equals, number = word.partition("=")
    if not equals or not number.isdecimal():
        raise ValueError(f"{word!r} pins nothing; try newest, random, or Produce=9,Fetch=12")
    if name not in _BY_NAME:
        raise ValueError(f"there is no API {name!r}; try a name such as Produce or OffsetCommit")
    key, version = _BY_NAME[name], int(number)
    first, last = API_VERSIONS[key]
    if not first <= version <= last:
        raise ValueError(f"{name}={version}: versions {first} to {last} are known")
    return key, version
