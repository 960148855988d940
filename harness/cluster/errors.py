"""What goes wrong with nodes.

EnvironmentFailure
├── NodeFailedError     a node did not start, or ended by itself, or ended badly
├── NotInTimeError      what was waited for did not come about
├── NoAnswerError       no node answered a question about the cluster
├── RefusedError        the cluster answered, and will not do what it was asked
│   └── RefusedConfigError   because no broker takes such a property: also a UsageFailure
└── FaultMissedError    a fault was injected and did not take hold: at best an unknown verdict
"""

from harness.errors import EnvironmentFailure, UsageFailure


class NodeFailedError(EnvironmentFailure):
    """A node did not do what it was asked; the message holds its last words."""


class NotInTimeError(EnvironmentFailure):
    """The deadline passed first."""


class NoAnswerError(EnvironmentFailure):
    """Nobody answered. During an election that is to be expected."""


class RefusedError(EnvironmentFailure):
    """The cluster will not do it, and says why."""


class RefusedConfigError(RefusedError, UsageFailure):
    """A property of a broker or topic is unknown, or its value is not one."""


class FaultMissedError(EnvironmentFailure):
    """The fault was injected, and it did not take hold."""
