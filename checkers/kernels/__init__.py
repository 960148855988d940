"""Loops over columns, compiled; each is plain Python, too, and does the same there.

Kernels take and return arrays and numbers only. They hold no lock while they run, so two of them
may run at once, and they are compiled once per machine: the code is kept in the package's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Kernel(Protocol[P, R]):
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @property
    def py_func(self) -> Callable[P, R]:
        """The plain Python twin."""
        ...


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    # Nobody calls them from C, so no entry for that is compiled.
    options: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
    compiled: Kernel[P, R] = numba.njit(**options)(function)
    return compiled
