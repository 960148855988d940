"""Failures that are no bugs of the harness; each is reported as one sentence.

EnvironmentFailure      255: the machine, the network or the cluster failed
└── UsageFailure        254: the request cannot be fulfilled, as with a flag that click refuses

Any other exception is a bug of the harness (255, with its traceback).
"""

EXIT_INTERRUPTED = 130
"""In the lowest layer, because a forced end and the loading of a command use it, too."""


class EnvironmentFailure(Exception):  # noqa: N818 - a failure of the machine, not a bug of the harness
    """There is no verdict, because the machine, the network or the cluster failed."""


class UsageFailure(EnvironmentFailure):
    """There is no verdict, because the request cannot be fulfilled; a retry does not help."""
