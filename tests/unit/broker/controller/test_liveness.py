"""Sessions: who has one, who has lost it, and when to look again."""

from broker.metadata.changes import BrokerRegistered
from tests.unit.broker.controller.clusters import SESSION_S, broker, cluster, sessions


def test_a_session_ends_after_its_time() -> None:
    image = cluster([1, 2])
    liveness = sessions(image, now=100)
    liveness.contacted(2, now=105, applied_end=10)
    assert liveness.expired(image, 108.9) == []
    assert liveness.expired(image, 109) == [1]
    assert not liveness.has_session(1, 109)
    assert liveness.has_session(2, 109)


def test_who_is_fenced_already_does_not_expire() -> None:
    image = cluster([broker(1, fenced=True)])
    assert sessions(image).expired(image, 1000) == []
    assert sessions(image).next_expiry_s(image) is None


def test_the_next_look_is_when_the_first_session_ends() -> None:
    image = cluster([1, 2])
    liveness = sessions(image, now=100)
    liveness.contacted(1, now=103, applied_end=10)
    assert liveness.next_expiry_s(image) == 100 + SESSION_S


def test_a_broker_that_liveness_never_heard_of_is_given_a_session() -> None:
    image = cluster([1])
    liveness = sessions(image)
    image.apply(BrokerRegistered(2, b"2" * 16, 9, (), fenced=False))
    assert liveness.expired(image, 50) == [1]
    assert liveness.has_session(2, 50)


def test_a_broker_has_caught_up_when_it_knows_of_its_own_registration() -> None:
    image = cluster([])
    liveness = sessions(image)
    assert not liveness.is_caught_up(1)
    liveness.registered(1, now=0, metadata_end=12)
    liveness.contacted(1, now=1, applied_end=11)
    assert not liveness.is_caught_up(1)
    liveness.contacted(1, now=2, applied_end=12)
    assert liveness.is_caught_up(1)


def test_a_broker_that_is_gone_has_no_session() -> None:
    image = cluster([1])
    liveness = sessions(image)
    liveness.unregistered(1)
    assert not liveness.has_session(1, 0)


def test_a_new_controller_waits_for_what_it_took_over() -> None:
    image = cluster([1, broker(2, in_controlled_shutdown=True)])
    liveness = sessions(image, metadata_end=10)
    assert not liveness.others_know_of_shutdown(image, 2)
    liveness.contacted(1, now=1, applied_end=9)
    assert not liveness.others_know_of_shutdown(image, 2)
    liveness.contacted(1, now=1, applied_end=10)
    assert liveness.others_know_of_shutdown(image, 2)
