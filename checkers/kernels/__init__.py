"""Loops over columns, compiled; each is plain Python, too, and does the same there.

Kernels take and return arrays and numbers only. They hold no lock while they run, so two of them
may run at once, and they are compiled once per machine: the code is kept in the package's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

import numba
from numba.extending import register_jitable

from checkers.kernels.compiling import forget_old_code, put_off_collection

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Kernel(Protocol[P, R]):
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @property
    def py_func(self) -> Callable[P, R]:
        """The plain Python twin."""
        ...


put_off_collection()
forget_old_code(Path(__file__).parent)

# Nobody calls them from C, so no entry for that is compiled.
_COMPILED: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
_UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""Who holds an array is not counted: doing so at each look at one takes as long as all the rest."""


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Reads and writes the arrays that it is given, and makes none."""
    compiled: Kernel[P, R] = numba.njit(**_COMPILED, **_UNCOUNTED)(function)
    return compiled


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """One that only kernels call, so that no entry for Python is compiled, either; from their plain
    twins it is called as it is."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, **_COMPILED, **_UNCOUNTED}
    compiled: Callable[P, R] = register_jitable(**options)(function)
    return compiled


LITTLE = 1 << 15
"""Elements, or slots, that plain Python is through with before a kernel is compiled."""


def fitting(compiled: Kernel[P, R], work: int) -> Callable[P, R]:
    """The kernel, or its plain twin where there is little to do."""
    twin: Callable[P, R] = getattr(compiled, "py_func", compiled)
    return compiled if work >= LITTLE else twin


def array_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """One that makes arrays, for itself or for others."""
    compiled: Kernel[P, R] = numba.njit(**_COMPILED)(function)
    return compiled


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """Becomes part of the kernels that call it: handing so many columns over costs more than the
    little that it does."""
    options: dict[str, Any] = {"inline": "always", **_UNCOUNTED}
    compiled: Kernel[P, R] = numba.njit(**options)(function)
    return compiled
