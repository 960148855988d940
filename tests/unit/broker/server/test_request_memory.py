"""Memory for requests is bounded, shared in turn, and never a deadlock."""

from broker.server.request_memory import RequestMemory

KIB = 1024


class Connection:
    def __init__(self) -> None:
        self.woken = 0

    def memory_available(self) -> None:
        self.woken += 1


def test_what_is_given_back_may_be_taken_again() -> None:
    memory = RequestMemory(64 * KIB)
    buffer = memory.take(64 * KIB)
    assert memory.saturated
    memory.give_back(buffer)
    assert memory.used_bytes == 0
    assert memory.take(64 * KIB) is buffer


def test_who_waits_is_woken_in_order_while_there_is_room() -> None:
    memory = RequestMemory(8 * KIB)
    holder, first, second = memory.take(8 * KIB), Connection(), Connection()
    memory.wait(first)
    memory.wait(second)
    memory.give_back(holder)
    assert (first.woken, second.woken) == (1, 1)


def test_one_request_may_finish_even_when_all_memory_is_held_by_halves() -> None:
    memory = RequestMemory(8 * KIB)
    memory.take(8 * KIB)
    one, other = Connection(), Connection()
    assert memory.may_take(one)
    assert memory.may_take(one)
    assert not memory.may_take(other)
    memory.wait(other)
    memory.request_complete(one)
    assert other.woken == 1
    assert memory.may_take(other)


def test_a_lost_connection_passes_its_privilege_on() -> None:
    memory = RequestMemory(4 * KIB)
    memory.take(4 * KIB)
    lost, waiting = Connection(), Connection()
    assert memory.may_take(lost)
    memory.wait(waiting)
    memory.forget(lost)
    assert waiting.woken == 1
    memory.forget(waiting)
    assert memory.may_take(Connection())


def test_spare_buffers_are_bounded() -> None:
    memory = RequestMemory(1 << 30)
    for buffer in [memory.take(4 << 20) for _ in range(10)]:
        memory.give_back(buffer)
    assert memory.spare_bytes <= 16 << 20
