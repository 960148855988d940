"""Stands for a log directory that cannot be used: whatever it is asked for fails."""

from __future__ import annotations

from broker.disk.interface import File


class UnreadableDisk:
    """A node that is handed one knows that something is missing, and does not replace it."""

    def __init__(self, problem: OSError) -> None:
        self._problem = problem

    def _refusal(self, path: str) -> OSError:
        return OSError(self._problem.errno, self._problem.strerror, path)

    async def create(self, path: str) -> File:
        raise self._refusal(path)

    async def open(self, path: str) -> File:
        raise self._refusal(path)

    async def read(self, path: str) -> bytes:
        raise self._refusal(path)

    async def replace(self, path: str, content: bytes) -> None:
        raise self._refusal(path)

    async def rename(self, source: str, target: str) -> None:
        raise self._refusal(source)

    async def delete(self, path: str) -> None:
        raise self._refusal(path)

    async def make_directory(self, path: str) -> None:
        raise self._refusal(path)

    async def delete_directory(self, path: str) -> None:
        raise self._refusal(path)

    async def list(self, path: str) -> list[str]:
        raise self._refusal(path)

    async def free_bytes(self) -> int:
        raise self._refusal("")

    async def close(self) -> None:
        return None
