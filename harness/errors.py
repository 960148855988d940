"""What can go wrong outside of us, told in a sentence.

EnvironmentFailure      255: the machine, the network or the cluster did not play along
└── UsageFailure        254: what was asked for cannot be had, as with a flag that click refuses

Any other exception is a bug of ours (255, with its traceback).
"""

EXIT_INTERRUPTED = 130
"""Here, in the lowest layer, because a forced end and the loading of a command use it, too."""


class EnvironmentFailure(Exception):  # noqa: N818 - a failure of the machine's, not an error of ours
    """No verdict, because the machine or the network did not play along."""


class UsageFailure(EnvironmentFailure):
    """No verdict, because what was asked for cannot be had: to try again as it is, is no use."""
