"""What a node has stored of a topic, found on its host, where Kafka and our broker name alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from harness.cluster.base import Place
from harness.cluster.capabilities import Node
from harness.cluster.errors import NodeFailedError

_FILE = re.compile(r"(?P<topic>.+)-(?P<index>\d+)/(?P<base>\d{20})\.log (?P<size>\d+)")


async def stored_segments(
    place: Place, node: Node, log_dir: PurePosixPath, topic: str
) -> dict[int, Sequence[int]]:
    """By partition: the sizes of its segments, the oldest first."""
    looking = ["find", str(log_dir), "-mindepth", "2", "-maxdepth", "2"]
    done = await place.run(node, [*looking, "-name", "*.log", "-printf", "%P %s\n"])
    # A file that goes while one looks for it is a complaint of find's, and no loss.
    if done.exit_code != 0 and not done.stdout:
        raise NodeFailedError(f"{node} does not show its logs: {done.stderr.strip()}")
    found: dict[int, list[tuple[int, int]]] = {}
    for line in done.stdout.splitlines():
        file = _FILE.fullmatch(line)
        if file is not None and file["topic"] == topic:
            found.setdefault(int(file["index"]), []).append((int(file["base"]), int(file["size"])))
    return {index: [size for _, size in sorted(files)] for index, files in sorted(found.items())}
