"""Why a simulated node is not there."""

from __future__ import annotations

from harness.sim.loop import SimulationError

KILLED = -9


class PropertiesError(SimulationError, ValueError):
    """No broker can be made with these properties: which, and what to try."""


class NodeDownError(SimulationError):
    """The node died, or could not start. A signal's exit code is negative."""

    def __init__(self, told: str, exit_code: int = 1) -> None:
        super().__init__(told)
        self.exit_code = exit_code
