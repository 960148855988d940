"""What the rules cannot go on with.

RaftError
├── UnfitStateError   what was found at the start does not fit together; nothing was touched
└── BrokenRuleError   another member asks for what must never be; the node stops, and says why
"""

from __future__ import annotations


class RaftError(Exception):
    pass


class UnfitStateError(RaftError):
    pass


class BrokenRuleError(RaftError):
    pass
