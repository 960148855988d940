"""Exit codes of the command line. Only a verdict may exit 0, 1 or 2."""

from __future__ import annotations

from harness.errors import EnvironmentFailure, UsageFailure

EXIT_USAGE = 254
EXIT_CRASH = 255
EXIT_INTERRUPTED = 130


def exit_code_of(failure: EnvironmentFailure) -> int:
    return EXIT_USAGE if isinstance(failure, UsageFailure) else EXIT_CRASH
