"""A registry that a test may add to: what it adds is gone afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import checkers.registry
from harness import plugins
from harness.registry import REGISTRY


@contextmanager
def kept_registry() -> Iterator[None]:
    tables: list[dict[str, Any]] = [
        REGISTRY.systems,
        REGISTRY.clients,
        REGISTRY.workloads,
        REGISTRY.nemeses,
        checkers.registry._added,
    ]
    before = [dict(table) for table in tables]
    loaded, added = set(plugins._loaded), list(REGISTRY.checkers)
    try:
        yield
    finally:
        for table, was in zip(tables, before, strict=True):
            table.clear()
            table.update(was)
        REGISTRY.checkers[:] = added
        plugins._loaded.clear()
        plugins._loaded.update(loaded)
        checkers.registry.add(())
        for name in [each for each in sys.modules if each.startswith("log_trial_plugin_")]:
            del sys.modules[name]
