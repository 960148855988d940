"""Every choice of the nemesis `wire` is a fault that can be carried out, and names its message."""

from __future__ import annotations

import pytest

from harness.wire.match_json import fault_from_json
from nemesis.wire_menu import VARIANTS, choices, patience_s

OF_GROUPS = {
    "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch",
    "FindCoordinator", "ConsumerGroupHeartbeat",
}  # fmt: skip


OF_TRANSACTIONS = {
    "InitProducerId", "AddPartitionsToTxn", "EndTxn", "WriteTxnMarkers", "Produce",
}  # fmt: skip


@pytest.mark.parametrize("of_transactions", [False, True])
@pytest.mark.parametrize("of_groups", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_choice_can_be_carried_out(
    variant: str, of_groups: bool, of_transactions: bool
) -> None:
    menu = choices(variant, of_groups=of_groups, of_transactions=of_transactions)
    for match, action, nth_max in menu:
        fault_from_json({"name": "f", "match": {**match, "nth": nth_max}, "action": action})
        assert action["kind"] == variant


@pytest.mark.parametrize("variant", ["drop", "delay", "duplicate"])
def test_with_members_every_message_of_groups_may_be_struck(variant: str) -> None:
    struck: dict[str, set[str]] = {}
    for match, _, _ in choices(variant, of_groups=True):
        apis = [match["api"]] if isinstance(match["api"], str) else match["api"]
        for api in apis:
            struck.setdefault(api, set()).add(match["direction"])
        assert patience_s(match) > 1.0
    assert set(struck) == OF_GROUPS
    ways = {"request"} if variant == "duplicate" else {"request", "reply"}
    assert all(directions == ways for directions in struck.values())


def test_without_members_nobody_waits_for_their_messages() -> None:
    for match, _, _ in choices("drop", of_groups=False):
        assert match["api"] in ("Produce", "Fetch")
        assert patience_s(match) == 1.0


@pytest.mark.parametrize("variant", ["drop", "delay", "duplicate"])
def test_with_transactions_every_message_of_them_may_be_struck(variant: str) -> None:
    alone = {each[0]["api"] for each in choices(variant, of_groups=False, of_transactions=True)}
    assert alone == OF_TRANSACTIONS
    found = choices(variant, of_groups=True, of_transactions=True)
    both = {api for match, _, _ in found for api in _names(match["api"])}
    assert both == OF_GROUPS | OF_TRANSACTIONS | {"AddOffsetsToTxn", "TxnOffsetCommit"}
    ids = [match for match, _, _ in found if match["api"] == "Produce"]
    assert ids
    assert all("transactional_id" in match for match in ids), "of transactions only"


def _names(api: str | list[str]) -> list[str]:
    return [api] if isinstance(api, str) else api
