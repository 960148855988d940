"""W-SMEQ of coordinators: what lives is what a replay gives."""

from harness.sim.invariants.equal_groups import EqualGroups
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks
from tests.unit.harness.sim.invariants.offsets_by_hand import offsets_by_hand


def test_a_state_that_no_record_has_made_is_found() -> None:
    rule = EqualGroups()
    with offsets_by_hand(rule) as offsets:
        offsets.tell("high_watermark")
        offsets.set_in_memory(6)
        with breaks(rule, "its groups are not what a replay of its log gives"):
            offsets.tell("high_watermark")


def test_a_coordinator_that_is_writing_is_not_compared() -> None:
    rule = EqualGroups()
    with offsets_by_hand(rule) as offsets:
        looks = rule.looks
        assert looks > 3
        offsets.set_in_memory(6)
        offsets.shard._is_writing = True
        offsets.tell("high_watermark")
        assert rule.looks == looks


def test_a_group_that_is_empty_by_now_is_no_difference() -> None:
    """A replay of a compacted log need not know of it."""
    rule = EqualGroups()
    with offsets_by_hand(rule) as offsets:
        offsets.shard.machine.simple_groups["h"] = None
        looks = rule.looks
        offsets.tell("high_watermark")
        assert rule.looks == looks + 1
