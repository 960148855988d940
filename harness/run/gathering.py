"""What is kept of the nodes: their logs, their configuration, and what they stored.

The stored segments are the ground truth of a run: they tell what became of a send that nobody was
sure of. A node that cannot be asked any more keeps what it has; no verdict is lost for that.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from harness.cluster import Cluster, Host
from harness.cluster.parts import Stored
from harness.errors import EnvironmentFailure

_STORED_BYTES_MAX = 128 << 20
"""Of one node. More would make a run cost more room than it is worth."""
_LEVEL = 3


async def gather(cluster: Cluster, topics: Sequence[str], into: Path) -> None:
    await asyncio.gather(
        *(_gather_from(cluster, host, topics, into) for host in cluster.place.hosts)
    )


async def _gather_from(cluster: Cluster, host: Host, topics: Sequence[str], into: Path) -> None:
    directory = into / host.node
    directory.mkdir(exist_ok=True)
    for path in cluster.system.logs(host.node):
        with suppress(EnvironmentFailure, OSError):
            await cluster.place.get(host.node, path, directory / path.name)
    if cluster.system.stored is not None:
        with suppress(EnvironmentFailure, OSError):
            await _stored(cluster, cluster.system.stored, host, topics, directory)


async def _stored(
    cluster: Cluster, stored: Stored, host: Host, topics: Sequence[str], directory: Path
) -> None:
    """The segments of these topics, as n1/data.tar.zst."""
    place, packed = cluster.place, host.home / "data.tar"
    patterns = " ".join(f"{topic}-[0-9]*" for topic in topics)
    script = (
        f"cd {shlex.quote(str(stored.log_directory(host.node)))} && "
        f"test $(du -cb {patterns} | tail -n 1 | cut -f 1) -lt {_STORED_BYTES_MAX} && "
        f"tar -cf {shlex.quote(str(packed))} {patterns}"
    )
    done = await place.run(host.node, ["sh", "-c", script])
    if done.exit_code != 0:
        return
    fetched = directory / "data.tar"
    await place.get(host.node, packed, fetched)
    await place.run(host.node, ["rm", "-f", str(packed)])
    await asyncio.to_thread(_compress, fetched)


def _compress(path: Path) -> None:
    import zstandard

    with path.open("rb") as source, path.with_suffix(".tar.zst").open("wb") as target:
        zstandard.ZstdCompressor(level=_LEVEL).copy_stream(source, target)
    path.unlink()
