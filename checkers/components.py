"""Strongly connected components of graphs that are arrays."""

from __future__ import annotations

import numpy as np

from checkers.arrays import Ints32, Ints64
from checkers.kernels import graph as kernels


def by_source(nodes: int, source: Ints32) -> tuple[Ints64, Ints64]:
    """Where each node's edges begin, and all edges in that order; those of a node as they were."""
    start = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=nodes), out=start[1:])
    return start, np.argsort(source, kind="stable")


def components(nodes: int, start: Ints64, target: Ints32) -> tuple[int, Ints32]:
    """How many there are, and that of each node. An edge from one to another goes to a lower
    number."""
    index, component = np.full((2, nodes), -1, np.int32)
    low, stack, path = np.empty((3, nodes), np.int32)
    at = start[:-1].copy()
    count = kernels.components(start, target, at, index, low, stack, path, component)
    return count, component


def latest_calls(
    component: Ints32, count: int, start: Ints64, target: Ints32, call: Ints64
) -> Ints64:
    """For each component the latest call of all nodes that reach it, itself included."""
    latest = np.full(count, -1, np.int64)
    members = by_source(count, component)
    kernels.latest_calls(component, *members, start, target, call, latest)
    return latest
