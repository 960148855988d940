"""Spark's own Kafka connector, which the wheel of PySpark does not contain: fetched by Maven.

Its jars go into the user's cache, one directory for each version of PySpark, and are passed to a
session as `SparkSettings.jars`. `spark.jars.packages` would do the same by Ivy, but needs every
artifact of one release in the repository, and uses the network at every start.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.cluster.user_cache import cache_directory, locked
from harness.errors import EnvironmentFailure
from pipeline.session import require_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCALA: Final = "2.13"
_OLDER: Final = ("4.2.0", "4.0.0")
"""Releases of the connector and its token provider, if a repository lacks PySpark's own release.
This pair runs on Spark 4.3.0; tests/pipeline/test_connector.py runs with the release that was
fetched."""
_OF_SPARK: Final = (
    "org.apache.spark",
    "org.scala-lang",
    "org.scala-lang.modules",
    "org.slf4j",
    "org.lz4",
    "at.yawk.lz4",
    "com.github.luben",
    "org.xerial.snappy",
    "com.google.code.findbugs",
)
"""Groups of the artifacts that Spark has already; a second copy would conflict."""
_WITHIN_S: Final = 600
_COMPLETE: Final = "complete"


def connector_jars() -> tuple[Path, ...]:
    """The jars, fetched if they are missing. Blocks; safe to call in parallel.

    EnvironmentFailure names what to install.
    """
    require_spark()
    from pyspark import __version__ as version

    here = cache_directory(f"spark-kafka-connector-{version}")
    jars = here / "jars"
    with locked(here):
        if not (here / _COMPLETE).exists():
            _fetch(here, jars, version)
            (here / _COMPLETE).touch()
    return tuple(sorted(jars.glob("*.jar")))


def add_connector(session: SparkSession) -> None:
    """Add the jars to a session that runs already, for the calling thread."""
    for jar in connector_jars():
        session.sql(f"ADD JAR '{jar}'")


def _fetch(here: Path, jars: Path, version: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise EnvironmentFailure(
            "there is no mvn here, and Maven fetches Spark's Kafka connector; try: apt-get install "
            "maven"
        )
    said = []
    for connector, tokens in ((version, version), _OLDER):
        shutil.rmtree(jars, ignore_errors=True)
        pom = here / "pom.xml"
        pom.write_text(_pom(connector, tokens))
        command = [maven, "-B", "-q", "-f", str(pom), "dependency:copy-dependencies"]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
        if done.returncode == 0:
            return
        said.append((done.stdout + done.stderr).strip()[-700:])
    raise EnvironmentFailure(
        f"Maven could not fetch Spark's Kafka connector {version}, nor {_OLDER[0]}; is a Maven "
        "repository reachable from here? It said:\n" + "\n".join(said)
    )


def _pom(connector: str, tokens: str) -> str:
    parts = (
        (f"spark-sql-kafka-0-10_{_SCALA}", connector, _OF_SPARK),
        (f"spark-token-provider-kafka-0-10_{_SCALA}", tokens, ("*",)),
    )
    dependencies = "".join(_dependency(*part) for part in parts)
    return (
        "<project>\n"
        "<modelVersion>4.0.0</modelVersion>\n"
        "<groupId>log-trial</groupId><artifactId>spark-kafka-connector</artifactId>\n"
        "<version>1</version><packaging>pom</packaging>\n"
        f"<dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )


def _dependency(artifact: str, version: str, without: tuple[str, ...]) -> str:
    exclusions = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>"
        for group in without
    )
    return (
        f"<dependency><groupId>org.apache.spark</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>\n<exclusions>{exclusions}</exclusions></dependency>\n"
    )
