"""Apache Kafka as a system: every node a JVM that is both broker and controller (KRaft).

It takes the same server.properties as the reference broker and answers the same questions, so it
differs only in how it is installed, formatted and started. Its jars are on the host already where
that shares our files; elsewhere they are uploaded, once.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from harness.cluster.base import System
from harness.cluster.capabilities import Node
from harness.cluster.kafka_jars import KAFKA_VERSION, fetched_jars, packed_jars
from harness.cluster.reference_broker import ReferenceBroker
from harness.errors import EnvironmentFailure

_JAVA = "java"
_HEAP = "512m"
_SMALL_HEAP = "256m"
_NOT_FOUND = 127
_UPLOAD_WITHIN_S = 300.0

_LOG = "-Dorg.slf4j.simpleLogger"
_LOGGING = (
    f"{_LOG}.defaultLogLevel=warn",
    f"{_LOG}.log.kafka.server.KafkaRaftServer=info",
    f"{_LOG}.showDateTime=true",
    f"{_LOG}.dateTimeFormat=HH:mm:ss.SSS",
)
# What Kafka's own start script passes, but for the heap.
_JVM_OPTIONS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)

_UNPACK = """
set -e
cd {beside}
rm -rf {name} {name}.part
mkdir {name}.part
tar -xf {name}.tar -C {name}.part
rm {name}.tar
mv {name}.part {name}
"""


class ApacheKafka(ReferenceBroker):
    name = "kafka"
    _ready = "Kafka Server started"
    _ready_on = "stderr"
    _ready_every_s = 0.1
    # A JVM that shuts down in good order because of SIGTERM says so by its exit code.
    _ended_by_request = (0, 143, -15)
    # Its tool exits 1 whatever is wrong.
    _refuses_config = None

    async def install(self, node: Node) -> None:
        """Java has to be there; the reference broker's commands, too, as they do the asking."""
        await super().install(node)
        found = await self.place.run(node, [_JAVA, "-version"])
        if found.exit_code == _NOT_FOUND:
            raise EnvironmentFailure(
                f"{node} has no java, and Apache Kafka takes 17 or newer; try there: "
                "apt-get install default-jre-headless"
            )
        await asyncio.to_thread(fetched_jars)
        looking = ["test", "-d", str(self._jars(node))]
        if (await self.place.run(node, looking)).exit_code != 0:
            await self._upload(node)

    def _format_command(self, node: Node, arguments: Sequence[str]) -> Sequence[str]:
        return self._java(node, "kafka.tools.StorageTool", arguments, _SMALL_HEAP)

    def _start_command(self, node: Node, config: PurePosixPath) -> Sequence[str]:
        return self._java(node, "kafka.Kafka", [str(config)], _HEAP, _JVM_OPTIONS)

    def _java(
        self,
        node: Node,
        main_class: str,
        arguments: Sequence[str],
        heap: str,
        options: tuple[str, ...] = (),
    ) -> list[str]:
        sizes = (f"-Xms{heap}", f"-Xmx{heap}")
        jars = f"{self._jars(node)}/*"
        return [_JAVA, *sizes, *options, *_LOGGING, "-cp", jars, main_class, *arguments]

    def _jars(self, node: Node) -> PurePosixPath:
        """A host on which nothing has to be installed shares our files."""
        if self._installer is None:
            return PurePosixPath(fetched_jars())
        return self._uploaded(node) / "jars"

    def _uploaded(self, node: Node) -> PurePosixPath:
        return self._host(node).home.parent / f"apache-kafka-{KAFKA_VERSION}"

    async def _upload(self, node: Node) -> None:
        archive = await asyncio.to_thread(packed_jars)
        content = await asyncio.to_thread(archive.read_bytes)
        target = self._uploaded(node)
        await self.place.put(node, content, target.with_name(f"{target.name}.tar"))
        script = _UNPACK.format(
            beside=shlex.quote(str(target.parent)), name=shlex.quote(target.name)
        )
        done = await self.place.run(node, ["sh", "-c", script], within_s=_UPLOAD_WITHIN_S)
        if done.exit_code != 0:
            raise EnvironmentFailure(
                f"Apache Kafka could not be unpacked on {node}: {done.stderr.strip()[-500:]}"
            )


def _check(system: ApacheKafka) -> System:
    """Has mypy hold it to what clusters expect."""
    return system
