"""Apache Kafka's jars: fetched by Maven into the user's cache, and kept there."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

from harness.cluster.user_cache import cache_directory, locked
from harness.errors import EnvironmentFailure

KAFKA_VERSION = "4.3.1"
# The log classes of Kafka find no binding among its own dependencies, so one is named here.
_ARTIFACTS = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
_WITHIN_S = 600
_COMPLETE = "complete"


def home() -> Path:
    return cache_directory(f"apache-kafka-{KAFKA_VERSION}")


def is_fetched() -> bool:
    return (home() / _COMPLETE).exists()


def readiness() -> str:
    """For `harness systems ls`."""
    state = "ready" if is_fetched() else "not installed; try: harness systems install kafka"
    return f"{KAFKA_VERSION}; {state}"


def fetched_jars() -> Path:
    """Their directory, if they were fetched; else a sentence with the command that does."""
    if not is_fetched():
        raise EnvironmentFailure(
            f"Apache Kafka {KAFKA_VERSION} is not installed; try: harness systems install kafka"
        )
    return home() / "jars"


def fetch_jars() -> Path:
    """Fetches what is missing; returns their directory. Blocks; safe to call in parallel."""
    here = home()
    jars = here / "jars"
    with locked(here):
        if is_fetched():
            return jars
        maven = shutil.which("mvn")
        if maven is None:
            raise EnvironmentFailure(
                "there is no mvn here, and Maven fetches Apache Kafka; try: apt-get install maven"
            )
        shutil.rmtree(jars, ignore_errors=True)
        pom = here / "pom.xml"
        pom.write_text(_pom())
        command = [maven, "-B", "-q", "-f", str(pom), "dependency:copy-dependencies"]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
        if done.returncode != 0:
            last_words = (done.stdout + done.stderr).strip()[-1500:]
            raise EnvironmentFailure(
                f"Maven could not fetch Apache Kafka {KAFKA_VERSION}; is a Maven repository "
                f"reachable from here? It said:\n{last_words}"
            )
        (here / _COMPLETE).touch()
    return jars


def packed_jars() -> Path:
    """All of them as one archive, for hosts that do not share this machine's files. Blocks."""
    jars = fetched_jars()
    archive = home() / "jars.tar"
    with locked(home()):
        if not archive.exists():
            making = archive.with_suffix(".part")
            with tarfile.open(making, "w") as tar:
                tar.add(jars, "jars")
            making.rename(archive)
    return archive


def _pom() -> str:
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId>"
        "<version>{}</version></dependency>\n".format(*artifact.split(":"))
        for artifact in _ARTIFACTS
    )
    return (
        "<project>\n"
        "<modelVersion>4.0.0</modelVersion>\n"
        "<groupId>log-trial</groupId><artifactId>apache-kafka-jars</artifactId>\n"
        "<version>1</version><packaging>pom</packaging>\n"
        f"<dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )
