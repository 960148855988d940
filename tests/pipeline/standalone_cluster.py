"""A standalone cluster of Spark on loopback, whose workers do not have our code."""

from __future__ import annotations

import os
import site
import socket
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from bench.apache_kafka import free_port

_READY_S = 60.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


def python_without_our_code(directory: Path) -> Path:
    """A Python that finds the installed packages, but not the editable installation of this tree:
    files named *.pth, which lead there, count only in a site directory of one's own."""
    venv.create(directory, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    own = directory / "lib" / version / "site-packages"
    (own / "packages.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    return directory / "bin" / "python"


class StandaloneCluster:
    """A master and two workers of one core each."""

    def __init__(self, home: Path, workers: int = 2) -> None:
        self._home = home
        self.url = f"spark://127.0.0.1:{free_port()}"
        self._open = ExitStack()
        try:
            port = self.url.rpartition(":")[2]
            self._master = self._daemon(_MASTER, "--port", port)
            _until_accepted(int(port))
            self.workers = [
                self._daemon(
                    *(_WORKER, "--cores", "1", "--memory", "1g"),
                    *("--work-dir", str(home / f"work-{number}"), self.url),
                )
                for number in range(workers)
            ]
        except BaseException:
            self.stop()
            raise

    def kill_a_worker(self) -> None:
        """With its executor: kill -9 of both, as the end of the machine would be."""
        worker = psutil.Process(self.workers.pop().pid)
        for process in (worker, *worker.children(recursive=True)):
            process.kill()

    def stop(self) -> None:
        self._open.close()

    def _daemon(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        import pyspark

        spark_home = Path(pyspark.__file__).parent
        log = self._open.enter_context((self._home / f"{name}.log").open("ab"))
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "VIRTUAL_ENV")
        }
        process = subprocess.Popen(
            [
                *(str(spark_home / "bin" / "spark-class"), name),
                *("--host", "127.0.0.1", "--webui-port", "0"),
                *arguments,
            ],
            cwd=self._home,
            env={
                **environment,
                "SPARK_HOME": str(spark_home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            },
            stdout=log,
            stderr=log,
        )
        self._open.callback(_end, process)
        return process


@contextmanager
def standalone_cluster(home: Path) -> Iterator[StandaloneCluster]:
    cluster = StandaloneCluster(home)
    try:
        yield cluster
    finally:
        cluster.stop()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        found = psutil.Process(process.pid)
        children = found.children(recursive=True)
    except psutil.NoSuchProcess:
        children = []
    process.kill()
    process.wait()
    for child in children:
        if child.is_running():
            child.kill()


def _until_accepted(port: int) -> None:
    from time import monotonic, sleep

    end = monotonic() + _READY_S
    while monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            sleep(0.1)
        else:
            return
    raise AssertionError(f"the master of Spark on port {port} did not start in {_READY_S:g} s")
