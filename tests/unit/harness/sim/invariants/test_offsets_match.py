"""W-OFFMAT: memory and log of a coordinator agree, and what was acknowledged stays."""

from harness.sim.invariants.offsets_match import OffsetsMatch
from tests.unit.harness.sim.invariants.cluster_by_hand import breaks
from tests.unit.harness.sim.invariants.offsets_by_hand import offsets_by_hand


def test_a_coordinator_that_remembers_its_log_is_fine() -> None:
    rule = OffsetsMatch()
    with offsets_by_hand(rule) as offsets:
        looks = rule.looks
        assert looks > 3
        offsets.tell("high_watermark")
        assert rule.looks == looks + 1


def test_another_offset_in_memory_is_found() -> None:
    rule = OffsetsMatch()
    with offsets_by_hand(rule) as offsets:
        offsets.set_in_memory(4)
        with breaks(rule, "group g has offset 4 for t-0 in memory, and offset 5 in the log"):
            offsets.tell("high_watermark")


def test_an_offset_that_memory_lacks_is_found() -> None:
    rule = OffsetsMatch()
    with offsets_by_hand(rule) as offsets:
        offsets.set_in_memory(None)
        with breaks(rule, "group g has nothing for t-0 in memory, and offset 5 in the log"):
            offsets.tell("high_watermark")


def test_a_later_coordinator_without_what_was_acknowledged_is_found() -> None:
    rule = OffsetsMatch()
    with offsets_by_hand(rule) as offsets:
        offsets.forget_the_last()
        with breaks(rule, "a commit of group g for t-0 was acknowledged at offset 2 of the log"):
            offsets.tell("high_watermark")


def test_of_a_coordinator_that_was_deposed_nothing_is_asked() -> None:
    rule = OffsetsMatch()
    with offsets_by_hand(rule) as offsets:
        offsets.forget_the_last()
        [kept] = rule._acknowledged.values()
        for key, (offset, epoch) in list(kept.items()):
            kept[key] = offset, epoch + 1
        offsets.tell("high_watermark")
