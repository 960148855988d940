"""Memory for requests is bounded, shared in turn, and never a deadlock."""

from broker.server.request_memory import RequestMemory

KIB = 1024
MIB = KIB * KIB


class Connection:
    def __init__(self, memory: RequestMemory) -> None:
        self.memory = memory
        self.woken = 0
        self.held: list[bytearray] = []

    def memory_available(self) -> None:
        self.woken += 1

    def take(self, size: int) -> bytearray:
        self.held.append(self.memory.take(size, self))
        return self.held[-1]

    def give_back(self) -> None:
        self.memory.give_back(self.held.pop(), self)

    def may_take(self, request_bytes: int = KIB) -> bool:
        return self.memory.may_take(
            self,
            min(request_bytes, MIB),
            request_bytes=request_bytes,
            held_bytes=sum(map(len, self.held)),
        )


def test_what_is_given_back_may_be_taken_again() -> None:
    memory = RequestMemory(64 * KIB)
    connection = Connection(memory)
    buffer = connection.take(64 * KIB)
    assert memory.saturated
    connection.give_back()
    assert memory.used_bytes == 0
    assert connection.take(64 * KIB) is buffer


def test_giants_leave_a_quarter_to_usual_requests() -> None:
    memory = RequestMemory(8 * MIB)
    holder, giant, other, usual = (Connection(memory) for _ in range(4))
    holder.take(4 * MIB)
    holder.take(MIB)
    giant.take(MIB)
    other.take(MIB)
    assert not memory.available_bytes
    assert giant.may_take(90 * MIB)  # privileged, so that someone goes on
    assert not other.may_take(90 * MIB)
    giant.take(64 * MIB)
    assert usual.may_take(MIB)


def test_who_waits_is_woken_in_order_while_there_is_room() -> None:
    memory = RequestMemory(8 * KIB)
    holder, first, second = (Connection(memory) for _ in range(3))
    holder.take(8 * KIB)
    memory.wait(first)
    memory.wait(second)
    holder.give_back()
    assert (first.woken, second.woken) == (1, 1)
    assert not memory.is_somebody_waiting


def test_one_request_may_finish_even_when_all_memory_is_held_by_halves() -> None:
    memory = RequestMemory(8 * KIB)
    one, other, third = (Connection(memory) for _ in range(3))
    one.take(4 * KIB)
    other.take(4 * KIB)
    third.take(8 * KIB)
    assert one.may_take()
    assert one.may_take()
    assert not other.may_take()
    memory.wait(other)
    one.give_back()
    memory.request_complete(one)
    assert other.woken == 1
    assert other.may_take()


def test_a_lost_connection_passes_its_privilege_on() -> None:
    memory = RequestMemory(4 * KIB)
    holder, lost, waiting = (Connection(memory) for _ in range(3))
    holder.take(4 * KIB)
    assert lost.may_take()
    memory.wait(waiting)
    memory.forget(lost)
    assert waiting.woken == 1
    memory.forget(waiting)
    assert Connection(memory).may_take()


def test_every_byte_is_accounted_for_when_privilege_comes_and_goes() -> None:
    memory = RequestMemory(4 * KIB)
    one = Connection(memory)
    one.take(8 * KIB)
    assert one.may_take()
    one.take(16 * KIB)
    memory.request_complete(one)
    assert memory.used_bytes == 24 * KIB
    one.give_back()
    one.give_back()
    assert memory.used_bytes == 0


def test_spare_buffers_are_bounded() -> None:
    memory = RequestMemory(1 << 30)
    connection = Connection(memory)
    for _ in range(10):
        connection.take(4 * MIB)
    for _ in range(10):
        connection.give_back()
    assert memory.spare_bytes <= 16 * MIB
