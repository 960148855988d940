"""Apache Kafka as a system: every node a JVM that is both broker and controller (KRaft).

It takes the same server.properties as the reference broker and answers the same questions, so it
differs only in how it is installed, formatted and started. Its jars are on the host already where
that shares our files; elsewhere they are uploaded, once.
"""

from __future__ import annotations

import asyncio
import shlex
from pathlib import PurePosixPath

from harness.cluster.base import RunningProcess, System
from harness.cluster.capabilities import Node
from harness.cluster.errors import NodeFailedError, NotInTimeError
from harness.cluster.kafka_jars import KAFKA_VERSION, fetched_jars, packed_jars
from harness.cluster.reference_broker import ReferenceBroker
from harness.cluster.server_properties import server_properties
from harness.cluster.waiting import wait_until
from harness.errors import EnvironmentFailure

_JAVA = "java"
_HEAP = "512m"
_SMALL_HEAP = "256m"
_NOT_FOUND = 127
_UPLOAD_WITHIN_S = 300.0
_READY = "Kafka Server started"
_LAST_LINES = 12
_ENDED_BY_REQUEST = (0, 143, -15)
"""A JVM that shuts down in good order because of SIGTERM says so by its exit code."""

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

    async def configure(self, node: Node) -> None:
        host = self._host(node)
        members = [self._member(one) for one in self.place.hosts]
        text = server_properties(self._member(host), members, self.settings)
        config = host.home / "server.properties"
        await self.place.put(node, text.encode(), config)
        formatting = ["format", "--config", str(config), f"--cluster-id={self.cluster_id}"]
        command = self._java(node, "kafka.tools.StorageTool", formatting, _SMALL_HEAP)
        done = await self.place.run(node, command, within_s=self._start_within_s)
        if done.exit_code != 0:
            complaint = (done.stderr or done.stdout).strip()[-1500:]
            raise NodeFailedError(f"{node} could not be formatted: {complaint}")

    async def start(self, node: Node) -> None:
        home = self._host(node).home
        arguments = [str(home / "server.properties")]
        process = await self.place.spawn(
            node,
            self._java(node, "kafka.Kafka", arguments, _HEAP, _JVM_OPTIONS),
            stdout=home / "broker.out",
            stderr=home / "broker.log",
        )
        self._processes[node] = process

        async def is_decided() -> bool:
            return _READY in await process.output("stderr") or not await process.is_running()

        try:
            await wait_until(
                is_decided, within_s=self._start_within_s, what=f"{node} is ready", every_s=0.1
            )
        except NotInTimeError as late:
            last_words = await _last_words(process)
            await process.kill()
            raise NodeFailedError(f"{late}; it said:\n{last_words}") from None
        if _READY not in await process.output("stderr"):
            code = await process.wait()
            raise NodeFailedError(
                f"{node} ended with {code} before it was ready; it said:\n"
                + await _last_words(process)
            )

    async def stop(self, node: Node) -> None:
        process = self._processes.get(node)
        if process is None or not await process.is_running():
            return
        code = await process.terminate(within_s=self._stop_within_s)
        if code not in _ENDED_BY_REQUEST:
            raise NodeFailedError(
                f"{node} was asked to stop and ended with {code}; it said:\n"
                + await _last_words(process)
            )

    def _java(
        self,
        node: Node,
        main_class: str,
        arguments: list[str],
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


async def _last_words(process: RunningProcess) -> str:
    lines = (await process.output("stderr")).splitlines()
    return "\n".join(lines[-_LAST_LINES:])


def _check(system: ApacheKafka) -> System:
    """Has mypy hold it to what clusters expect."""
    return system
