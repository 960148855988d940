"""Keeps the metadata image on disk: a change is durable before anyone sees it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from broker.disk.interface import Disk
from broker.metadata.changes import Change, from_json, to_json
from broker.metadata.image import ConflictError, Image
from broker.protocol.checksum import crc32c

FILE_NAME = "cluster-metadata.json"
_FORMAT = 3


class MetadataCorruptError(Exception):
    """The file is not what this class wrote. Starting without it would forget topics."""


class MetadataStore:
    """`image` and `commit` are all that others may use."""

    def __init__(self, disk: Disk, image: Image) -> None:
        self._disk = disk
        self._committing = asyncio.Lock()
        self.image = image

    @classmethod
    async def load(cls, disk: Disk) -> MetadataStore:
        image = Image()
        if FILE_NAME in await disk.list(""):
            for change in _decode(await disk.read(FILE_NAME)):
                image.apply(change)
        return cls(disk, image)

    async def commit(self, changes: Sequence[Change]) -> None:
        """Durable when it returns, and applied; nothing of it is, when it raises.

        OSError is the disk's; ConflictError says that an earlier commit took the ground away.
        Commits are made one after the other.
        """
        async with self._committing:
            # The snapshot is taken of a copy, so that readers see no change that may still fail.
            after = self.image.copy()
            for change in changes:
                after.apply(change)
            await self._disk.replace(FILE_NAME, _encode(after))
            self.image.become(after)


def _encode(image: Image) -> bytes:
    changes = [to_json(change) for change in image.as_changes()]
    body = json.dumps(changes, separators=(",", ":"), sort_keys=True).encode()
    head = json.dumps({"format": _FORMAT, "crc32c": crc32c(memoryview(body))}).encode()
    return head + b"\n" + body + b"\n"


def _decode(content: bytes) -> list[Change]:
    head, _, rest = content.partition(b"\n")
    body = rest.removesuffix(b"\n")
    try:
        header: dict[str, Any] = json.loads(head)
        if header["format"] != _FORMAT:
            raise MetadataCorruptError(
                f"{FILE_NAME} has format {header['format']}, this version reads only {_FORMAT}"
            )
        if header["crc32c"] != crc32c(memoryview(body)):
            raise MetadataCorruptError(f"{FILE_NAME} fails its checksum; restore it from a copy")
        return [from_json(plain) for plain in json.loads(body)]
    except (ValueError, KeyError, TypeError, ConflictError) as error:
        what = "is damaged" if content else "is empty"
        raise MetadataCorruptError(f"{FILE_NAME} {what}; restore it from a copy") from error
