"""Clients in the simulator that were not written for it, such as aiokafka: unmodified, repeatable.

They read Python's own clock and dice, and iterate over sets of texts. So a run with them needs its
clock and dice bound to the simulation before they are imported, and a process whose hashes are
pinned. `prepare_process` sees to the process, `foreign_clients` to the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from harness.sim.bound_modules import bound_to
from harness.sim.loop import SimulationError
from harness.sim.simulation import Simulation

CLIENTS = ("aiokafka",)

ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    # Compiled records would read the machine's clock past Python.
    "AIOKAFKA_NO_EXTENSIONS": "1",
}
"""What a process must have been started with."""

BROKER_PROPERTIES = {"broker.rack": "the-only-one"}
"""What the brokers of such a run need: without a rack, aiokafka keeps None in its set of brokers,
and before Python 3.12 the hash of None is an address, which no environment pins."""

_imported_in_time: dict[str, None] = {}


class ForeignClientError(SimulationError):
    """The run could not be repeated, so it is not begun."""


def prepare_process() -> None:
    """Starts the running program again with the right environment, unless it has that already.

    To be called first of all: what the program did before is done twice.
    """
    if not _is_prepared():
        sys.stdout.flush()
        sys.stderr.flush()
        # The same interpreter with the same arguments; no shell has a part in it.
        os.execve(  # noqa: S606
            sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **ENVIRONMENT}
        )


def _is_prepared() -> bool:
    return all(os.environ.get(name) == value for name, value in ENVIRONMENT.items())


@contextmanager
def foreign_clients(simulation: Simulation) -> Iterator[None]:
    """Import and use the client inside. Raises ForeignClientError."""
    if not _is_prepared():
        wanted = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
        raise ForeignClientError(
            f"this process was not started with {wanted}; call prepare_process first"
        )
    for name in CLIENTS:
        if name in sys.modules and name not in _imported_in_time:
            raise ForeignClientError(
                f"{name} was imported before its clock and dice were bound to a simulation; "
                "import it inside foreign_clients only"
            )
    with bound_to(simulation):
        try:
            yield
        finally:
            _imported_in_time.update({name: None for name in CLIENTS if name in sys.modules})
