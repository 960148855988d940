"""What is true: a history in, a verdict out; pure.

`check` runs checkers by name. They share what is worked out of a history once: its columns
(columns.py) and, for those that judge logs, what these say of each value (log/facts.py).
"""

from __future__ import annotations

from checkers.registry import all_checkers, check

__all__ = ["all_checkers", "check"]
