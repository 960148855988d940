"""Ends the Java process of a start of Spark that failed or was interrupted.

PySpark knows the process only when the start has succeeded. Java ends when its standard input does,
but only after it has written its port to a file. An interrupted start has removed the directory of
that file: Java's main thread then fails, and its server waits for a client for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen, TimeoutExpired
from typing import Any, Final

_WITHIN_S: Final = 10.0


@contextmanager
def ended_if_not_started() -> Iterator[None]:
    """Whatever ends the block early also ends the processes that PySpark started in it."""
    from pyspark import java_gateway

    started: list[Popen[Any]] = []
    popen: Any = vars(java_gateway)["Popen"]

    def noted(*command: Any, **options: Any) -> Popen[Any]:
        process: Popen[Any] = popen(*command, **options)
        started.append(process)
        return process

    vars(java_gateway)["Popen"] = noted
    try:
        yield
    except BaseException:
        for process in started:
            end(process)
        raise
    finally:
        vars(java_gateway)["Popen"] = popen


def end(process: Popen[Any]) -> None:
    """By a signal that Java handles: it then removes its temporary directories."""
    process.terminate()
    try:
        process.wait(_WITHIN_S)
    except TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()
