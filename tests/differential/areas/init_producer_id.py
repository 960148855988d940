"""InitProducerId without transactions."""

from __future__ import annotations

from broker.protocol.apis import ApiKey
from tests.differential.script import story
from tests.differential.talk import Talk

INIT = ApiKey.INIT_PRODUCER_ID


@story(INIT)
def without_a_transactional_id(talk: Talk) -> None:
    first = talk.ask("first", transactional_id=None, transaction_timeout_ms=60_000)
    talk.ask("second", transactional_id=None, transaction_timeout_ms=60_000)
    talk.ask("timeout 0", transactional_id=None, transaction_timeout_ms=0)
    talk.ask("negative timeout", transactional_id=None, transaction_timeout_ms=-1)
    talk.ask("huge timeout", transactional_id=None, transaction_timeout_ms=2**31 - 1)
    talk.ask("empty transactional id", transactional_id="", transaction_timeout_ms=60_000)
    if talk.version >= 3:
        own = {"producer_id": first.producer_id, "producer_epoch": first.producer_epoch}
        common = {"transactional_id": None, "transaction_timeout_ms": 60_000}
        talk.ask("with an id", **common, **own)
        talk.ask("with an id that is not known", **common, producer_id=10**12, producer_epoch=0)
        talk.ask("id without epoch", **common, producer_id=5, producer_epoch=-1)
        talk.ask("epoch without id", **common, producer_id=-1, producer_epoch=5)
        talk.ask("the last epoch", **common, producer_id=5, producer_epoch=2**15 - 1)
