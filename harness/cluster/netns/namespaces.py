"""Threads that live in another network namespace of this machine.

A namespace belongs to a thread, not to a process. A socket stays in the namespace in which it was
made, and a process or a thread begins in that of the thread that started it. So one thread that has
moved makes sockets for all the others, and a client it opens lives there with all its own threads.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_CLONE_NEWNET = 0x40000000
_SO_RCVBUFFORCE = 33
_libc = ctypes.CDLL(None, use_errno=True)

_Result = TypeVar("_Result")


def made_network() -> int:
    """A new network namespace, as the descriptor that holds it: with the last one it goes."""

    def unshare() -> int:
        _must(_libc.unshare(_CLONE_NEWNET), "make a network namespace")
        return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)

    return _in_thread_of_its_own(unshare)


def network_of(pid: int) -> int:
    """The one that a process is in, as a descriptor."""
    return os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)


def inside(network: int, act: Callable[[], _Result]) -> _Result:
    """Once, in a thread that ends with it, so that nothing of ours stays in there."""

    def entered() -> _Result:
        enter(network)
        return act()

    return _in_thread_of_its_own(entered)


def enter(network: int) -> None:
    """The calling thread only."""
    _must(_libc.setns(network, _CLONE_NEWNET), "enter a network namespace")


def widen(receiver: socket.socket, size_bytes: int) -> None:
    """Lets it hold so much that was not read yet, as far as this process may ask for it."""
    try:
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, size_bytes)
    except PermissionError:
        # Root of a user namespace is bound by the machine's limit.
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size_bytes)


class ThreadsInside:
    """A pool of threads in a namespace, for calls that block."""

    def __init__(self, network: int, *, name: str, count: int) -> None:
        """Takes over the descriptor."""
        self._network = network
        self._pool = ThreadPoolExecutor(
            count, thread_name_prefix=name, initializer=enter, initargs=(network,)
        )

    async def call(self, act: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, act)

    def wait_for(self, act: Callable[[], _Result]) -> _Result:
        """For other threads; not for the loop's."""
        return self._pool.submit(act).result()

    def close(self, *, wait: bool) -> None:
        """A call that is under way keeps its thread, and so the namespace, until it ends."""
        self._pool.shutdown(wait=wait, cancel_futures=True)
        os.close(self._network)


def _in_thread_of_its_own(act: Callable[[], _Result]) -> _Result:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(act).result()


def _must(returned: int, what: str) -> None:
    if returned != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot {what}: {os.strerror(number)}")
