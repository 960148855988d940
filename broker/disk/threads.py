"""The few threads of a disk: whatever may wait for the device runs in one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class DiskThreads:
    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="disk")

    async def run(
        self,
        work: Callable[_Arguments, _Result],
        *args: _Arguments.args,
        **kwargs: _Arguments.kwargs,
    ) -> _Result:
        """Also when the caller is cancelled, the thread is done with the disk when it returns."""
        assert not kwargs
        done = asyncio.get_running_loop().run_in_executor(self._pool, work, *args)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            # A lock that the caller holds must not be free while the thread still works.
            while not done.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([done])
            if not done.cancelled():
                done.exception()  # nobody else will look at it
            # A file that the thread opened would stay open as long as this error is kept.
            del done
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=True)
