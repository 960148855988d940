"""The real network over loopback: bytes arrive whole and in order, by whichever way they leave."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from broker.disk.files import FileDisk
from broker.disk.interface import FileSlice
from broker.disk.memory import MemoryDisk
from broker.network.interface import Address, Connection
from broker.network.sockets import _SENDFILE_MAX, SocketNetwork

LOOPBACK = Address("127.0.0.1", 0)


class Collector:
    """A receiver that keeps everything, with a buffer small enough to need many reads."""

    def __init__(self, buffer_bytes: int = 1 << 16) -> None:
        self.data = bytearray()
        self.ended: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self.was_drained = asyncio.Event()
        self._buffers = [memoryview(bytearray(7)), memoryview(bytearray(buffer_bytes))]

    def receive_buffers(self) -> Sequence[memoryview]:
        return self._buffers

    def received(self, count: int) -> None:
        self.data += b"".join(self._buffers)[:count]

    def drained(self) -> None:
        self.was_drained.set()

    def closed(self, error: Exception | None) -> None:
        self.ended.set_result(error)


async def pair(network: SocketNetwork) -> tuple[Connection, Connection]:
    accepted: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
    listener = await network.listen(LOOPBACK, accepted.set_result)
    ours = await network.connect(listener.address)
    theirs = await accepted
    await listener.close()
    return ours, theirs


async def sent_through(network: SocketNetwork, chunks: Sequence[bytes | FileSlice]) -> bytes:
    ours, theirs = await pair(network)
    sender, receiver = Collector(), Collector()
    ours.start(sender)
    theirs.start(receiver)
    ours.send(chunks)
    if ours.unsent_bytes:
        await asyncio.wait_for(sender.was_drained.wait(), 10)
    ours.close()
    assert await asyncio.wait_for(receiver.ended, 10) is None
    return bytes(receiver.data)


@pytest.mark.parametrize("use_sendfile", [True, False])
async def test_sendfile_and_its_twin_send_the_same_bytes(
    tmp_path: Path, use_sendfile: bool
) -> None:
    content = Random(1).randbytes(5_000_000)
    disk = FileDisk(str(tmp_path))
    file = await disk.create("segment")
    file.append([content])
    chunks: list[bytes | FileSlice] = [
        b"head",
        file.slice(17, 4_000_000),
        b"",
        b"middle",
        file.slice(0, 1),
        b"tail",
    ]
    sent = await sent_through(SocketNetwork(use_sendfile=use_sendfile), chunks)
    assert sent == b"head" + content[17:4_000_017] + b"middle" + content[:1] + b"tail"
    file.close()
    await disk.close()


async def test_of_a_long_slice_each_turn_of_the_loop_sends_a_part(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    file = await disk.create("segment")
    content = Random(2).randbytes(3 * _SENDFILE_MAX)
    file.append([content])
    ours, theirs = await pair(SocketNetwork())
    sender, receiver = Collector(), Collector(buffer_bytes=1 << 20)
    ours.start(sender)
    theirs.start(receiver)
    ours.send([file.slice(0, len(content)), b"tail"])
    assert ours.unsent_bytes >= 2 * _SENDFILE_MAX
    ours.send([b"later"])
    await asyncio.wait_for(sender.was_drained.wait(), 10)
    ours.close()
    assert await asyncio.wait_for(receiver.ended, 10) is None
    assert bytes(receiver.data) == content + b"taillater"
    file.close()
    await disk.close()


async def test_many_short_slices_are_no_more_of_a_turn_than_a_long_one(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    file = await disk.create("segment")
    content = Random(3).randbytes(3 * _SENDFILE_MAX)
    file.append([content])
    ours, theirs = await pair(SocketNetwork())
    sender, receiver = Collector(), Collector(buffer_bytes=1 << 20)
    ours.start(sender)
    theirs.start(receiver)
    length = _SENDFILE_MAX // 4
    ours.send([file.slice(number * length, length) for number in range(12)])
    assert ours.unsent_bytes >= 2 * _SENDFILE_MAX
    await asyncio.wait_for(sender.was_drained.wait(), 10)
    ours.close()
    assert await asyncio.wait_for(receiver.ended, 10) is None
    assert bytes(receiver.data) == content
    file.close()
    await disk.close()


async def test_readers_that_catch_up_together_share_a_turn(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    file = await disk.create("segment")
    content = Random(4).randbytes(4 * _SENDFILE_MAX)
    file.append([content])
    network = SocketNetwork()
    pairs = [await pair(network) for _ in range(4)]
    senders, receivers = [Collector() for _ in pairs], [Collector(1 << 20) for _ in pairs]
    for (ours, theirs), sender, receiver in zip(pairs, senders, receivers, strict=True):
        ours.start(sender)
        theirs.start(receiver)
    for ours, _ in pairs:
        ours.send_file(file.slice(0, len(content)))
    # The first is alone when it begins, the last has three beside it. A socket may take less.
    sent = [len(content) - ours.unsent_bytes for ours, _ in pairs]
    shares = [_SENDFILE_MAX, _SENDFILE_MAX, _SENDFILE_MAX // 2, _SENDFILE_MAX // 3]
    assert all(0 < some <= share for some, share in zip(sent, shares, strict=True))
    for (ours, _), sender, receiver in zip(pairs, senders, receivers, strict=True):
        await asyncio.wait_for(sender.was_drained.wait(), 10)
        ours.close()
        assert await asyncio.wait_for(receiver.ended, 10) is None
        assert bytes(receiver.data) == content
    assert network._senders.count == 0
    file.close()
    await disk.close()


async def test_a_connection_may_close_between_two_parts_of_a_slice(tmp_path: Path) -> None:
    disk = FileDisk(str(tmp_path))
    file = await disk.create("segment")
    file.append([bytes(3 * _SENDFILE_MAX)])
    ours, theirs = await pair(SocketNetwork())
    sender, receiver = Collector(), Collector()
    ours.start(sender)
    theirs.start(receiver)
    ours.send_file(file.slice(0, file.size))
    ours.close()
    assert await asyncio.wait_for(receiver.ended, 10) is None
    assert len(receiver.data) <= _SENDFILE_MAX
    assert not sender.was_drained.is_set()
    file.close()
    await disk.close()


async def test_a_slice_of_a_file_without_descriptor_is_read_and_sent() -> None:
    disk = MemoryDisk()
    file = await disk.create("segment")
    file.append([b"0123456789"])
    assert await sent_through(SocketNetwork(), [b"<", file.slice(2, 5), b">"]) == b"<23456>"


@pytest.mark.parametrize("use_sendfile", [True, False])
async def test_a_slice_that_its_file_cannot_fill_closes_the_connection(
    tmp_path: Path, use_sendfile: bool
) -> None:
    disk = FileDisk(str(tmp_path))
    file = await disk.create("segment")
    file.append([b"short"])
    ours, theirs = await pair(SocketNetwork(use_sendfile=use_sendfile))
    sender, receiver = Collector(), Collector()
    ours.start(sender)
    theirs.start(receiver)
    ours.send_file(FileSlice(file, 0, 50))
    error = await asyncio.wait_for(sender.ended, 10)
    assert isinstance(error, OSError)
    assert "ended inside a slice" in str(error)
    await receiver.ended
    assert bytes(receiver.data) == (b"short" if use_sendfile else b"")
    file.close()
    await disk.close()


async def test_a_paused_connection_receives_nothing_until_it_is_resumed() -> None:
    ours, theirs = await pair(SocketNetwork())
    sender, receiver = Collector(), Collector()
    ours.start(sender)
    theirs.start(receiver)
    theirs.pause_reading()
    ours.send([b"later"])
    probe, answer = await pair(SocketNetwork())  # a whole exchange, so that time has passed
    probe.close()
    answer.close()
    assert receiver.data == b""
    theirs.resume_reading()
    ours.close()
    await asyncio.wait_for(receiver.ended, 10)
    assert receiver.data == b"later"


async def test_a_port_that_is_taken_is_named() -> None:
    network = SocketNetwork()
    listener = await network.listen(LOOPBACK, lambda connection: connection.close())
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{listener.address.port}"):
        await network.listen(listener.address, lambda connection: connection.close())
    await listener.close()
