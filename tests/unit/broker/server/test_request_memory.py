"""Memory for requests is bounded, shared in turn, and never a deadlock."""

from collections.abc import Callable

from broker.server.request_memory import RequestMemory

KIB = 1024
MIB = KIB * KIB


class Soon:
    """A loop that does what it was asked to do soon when it is told to."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []

    def __call__(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def run(self) -> None:
        while self.callbacks:
            self.callbacks.pop(0)()


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
    soon = Soon()
    memory = RequestMemory(64 * KIB, soon)
    connection = Connection(memory)
    buffer = connection.take(64 * KIB)
    assert memory.saturated
    connection.give_back()
    assert memory.used_bytes == 0
    assert connection.take(64 * KIB) is buffer


def test_giants_leave_a_quarter_to_usual_requests() -> None:
    soon = Soon()
    memory = RequestMemory(8 * MIB, soon)
    holder, giant, other, usual = (Connection(memory) for _ in range(4))
    holder.take(4 * MIB)
    holder.take(MIB)
    giant.take(MIB)
    other.take(MIB)
    assert memory.saturated
    assert memory.is_tight
    assert giant.may_take(90 * MIB)  # privileged, so that someone goes on
    assert not other.may_take(90 * MIB)
    giant.take(64 * MIB)
    assert usual.may_take(MIB)


def test_who_waits_is_woken_in_order_while_there_is_room() -> None:
    soon = Soon()
    memory = RequestMemory(8 * KIB, soon)
    holder, first, second = (Connection(memory) for _ in range(3))
    holder.take(8 * KIB)
    memory.wait(first, request_bytes=KIB)
    memory.wait(second, request_bytes=KIB)
    holder.give_back()
    assert first.woken == 0  # not in the middle of somebody's giving back
    soon.run()
    assert (first.woken, second.woken) == (1, 1)
    assert not memory.is_somebody_waiting


def test_one_request_may_finish_even_when_all_memory_is_held_by_halves() -> None:
    soon = Soon()
    memory = RequestMemory(8 * KIB, soon)
    one, other, third = (Connection(memory) for _ in range(3))
    one.take(4 * KIB)
    other.take(4 * KIB)
    third.take(8 * KIB)
    assert one.may_take()
    assert one.may_take()
    assert not other.may_take()
    memory.wait(other, request_bytes=KIB)
    one.give_back()
    memory.request_complete(one)
    soon.run()
    assert other.woken == 1
    assert other.may_take()


def test_a_lost_connection_passes_its_privilege_on() -> None:
    soon = Soon()
    memory = RequestMemory(4 * KIB, soon)
    holder, lost, waiting = (Connection(memory) for _ in range(3))
    holder.take(4 * KIB)
    assert lost.may_take()
    memory.wait(waiting, request_bytes=KIB)
    memory.forget(lost)
    soon.run()
    assert waiting.woken == 1
    memory.forget(waiting)
    assert Connection(memory).may_take()


def test_every_byte_is_accounted_for_when_privilege_comes_and_goes() -> None:
    soon = Soon()
    memory = RequestMemory(4 * KIB, soon)
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
    soon = Soon()
    memory = RequestMemory(1 << 30, soon)
    connection = Connection(memory)
    for _ in range(10):
        connection.take(4 * MIB)
    for _ in range(10):
        connection.give_back()
    assert memory.spare_bytes <= 16 * MIB


class Hungry(Connection):
    """Wants a buffer, uses it and gives it back at once, or waits again."""

    def __init__(self, memory: RequestMemory, request_bytes: int) -> None:
        super().__init__(memory)
        self.request_bytes = request_bytes
        self.served = False

    def memory_available(self) -> None:
        super().memory_available()
        if self.may_take(self.request_bytes):
            self.take(4 * KIB)
            self.give_back()
            self.memory.request_complete(self)
            self.served = True
        else:
            self.memory.wait(self, request_bytes=self.request_bytes)


def test_a_crowd_is_served_one_after_the_other_without_depth() -> None:
    soon = Soon()
    memory = RequestMemory(64 * KIB, soon)
    holder = Connection(memory)
    holder.take(64 * KIB)
    crowd = [Hungry(memory, KIB) for _ in range(5000)]
    for each in crowd:
        memory.wait(each, request_bytes=KIB)
    holder.give_back()
    soon.run()
    assert all(each.served for each in crowd)
    assert memory.used_bytes == 0


def test_who_cannot_go_on_yet_stays_first_and_is_not_asked_for_all_behind_it() -> None:
    soon = Soon()
    memory = RequestMemory(64 * KIB, soon)
    holder, privileged = Connection(memory), Connection(memory)
    holder.take(32 * KIB)
    holder.take(32 * KIB)
    assert privileged.may_take(2 * MIB)
    giants = [Hungry(memory, 2 * MIB) for _ in range(10)]
    for each in giants:
        memory.wait(each, request_bytes=2 * MIB)
    holder.give_back()
    soon.run()
    assert [each.woken for each in giants] == [1] + [0] * 9
    memory.request_complete(privileged)
    soon.run()
    assert all(each.served for each in giants)


def test_bytes_kept_elsewhere_count_too() -> None:
    soon = Soon()
    memory = RequestMemory(64 * KIB, soon)
    memory.hold(64 * KIB)
    assert memory.saturated
    waiting = Hungry(memory, KIB)
    memory.wait(waiting, request_bytes=KIB)
    memory.let_go(64 * KIB)
    soon.run()
    assert waiting.served
