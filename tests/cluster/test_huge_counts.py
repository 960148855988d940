"""A real broker under requests with huge counts: the fuzz, in small and as a whole."""

from __future__ import annotations

import pytest

from broker.protocol.apis import ApiKey
from tests.fuzz.huge_counts import run, running_broker, send
from tests.fuzz.huge_frames import Kind, huge_frames

pytestmark = pytest.mark.clients


def test_one_huge_request_keeps_nobody_waiting_and_stays_small() -> None:
    with running_broker() as broker:
        for key, kind in (
            (ApiKey.METADATA, Kind.FILL),
            (ApiKey.INCREMENTAL_ALTER_CONFIGS, Kind.NAMES),
            (ApiKey.DESCRIBE_CONFIGS, Kind.MOST),
            (ApiKey.PRODUCE, Kind.REJECTS),
        ):
            version = 12 if key is ApiKey.PRODUCE else 1
            sent = next(each for each in huge_frames(key, version, 8 << 20) if each.kind is kind)
            seen = send(broker, broker.ports["broker"], sent)
            if list(seen.problems(by_wall=False)):  # CPU time grows when cores are shared
                seen = send(broker, broker.ports["broker"], sent)
            assert list(seen.problems(by_wall=False)) == []
            assert (seen.answer == "closed") is (kind is Kind.FILL)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_array_of_any_request_may_be_huge() -> None:
    assert run([], quick=True, by_wall=False) == 0
