"""kafkajs as a speaker. It reads only as a group member, so here it only produces and asks."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.clients.json_lines import JsonLinesProcess, as_json
from tests.clients.speaker import CODECS, Acks, Codec, Message

HOME = Path(__file__).parent / "kafkajs"


class KafkajsSpeaker:
    name = "kafkajs"
    codecs = CODECS
    sets_timestamps = True

    def __init__(self, bootstrap: str) -> None:
        install_kafkajs()
        self.process = JsonLinesProcess(["node", "speaker.js", bootstrap], HOME, self.name)

    def produce(
        self,
        topic: str,
        partition: int,
        messages: Sequence[Message],
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
    ) -> None:
        self.process.ask(
            "produce",
            topic=topic,
            partition=partition,
            messages=[as_json(message) for message in messages],
            codec=codec,
            acks={"0": 0, "1": 1, "all": -1}[acks],
            idempotent=idempotent,
        )

    def close(self) -> None:
        self.process.close()


def install_kafkajs() -> None:
    """What the lock file names, once; parallel test processes wait for each other."""
    assert shutil.which("npm"), "npm is not installed; try: apt-get install nodejs npm"
    modules = HOME / "node_modules"
    with (HOME / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (modules / ".package-lock.json").exists():
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(command, cwd=HOME, check=True, timeout=120, capture_output=True)
