"""What can go wrong outside of us, told in a sentence.

Usage errors are click's own (254); a failure of the environment exits 255 with its sentence; any
other exception is a bug of ours (255, with its traceback).
"""


class EnvironmentFailure(Exception):  # noqa: N818 - a failure of the machine's, not an error of ours
    """No verdict, because the machine or the network did not play along."""
