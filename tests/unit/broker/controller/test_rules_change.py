"""A changed configuration, and what the partitions make of it at once."""

from broker.controller.broker_events import fence_brokers
from broker.controller.rules_change import follow_new_rules
from broker.metadata.partition_info import NO_LEADER, RECOVERING
from tests.unit.broker.controller.clusters import after, broker, cluster, only, partition, rules


def test_a_smaller_min_isr_ends_eligibility() -> None:
    image = cluster([1, broker(2, fenced=True)], partition([1, 2], [1], elr=(2,)))
    assert follow_new_rules(image, rules(min_isr=2)) == []
    changed = after(image, follow_new_rules(image, rules(min_isr=1)))
    assert only(changed).elr == ()
    # The leader has gone on alone meanwhile, so broker 2 must not lead, whatever the rules.
    lost = only(after(changed, fence_brokers(changed, [1], rules(min_isr=2))))
    assert lost.elr == (1,)


def test_a_larger_min_isr_makes_nobody_eligible() -> None:
    image = cluster([1, 2], partition([1, 2, 3], [1, 2]))
    assert follow_new_rules(image, rules(min_isr=3)) == []


def test_where_unclean_elections_are_allowed_somebody_leads_at_once() -> None:
    image = cluster([2], partition([1, 2], [], elr=(1,)))
    assert only(image).leader == NO_LEADER
    info = only(after(image, follow_new_rules(image, rules(min_isr=2, unclean=True))))
    assert (info.leader, info.leader_recovery_state) == (2, RECOVERING)
