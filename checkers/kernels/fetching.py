"""Memory asked for before it is needed.

The elements of operations lie between those of others, so a processor cannot guess which it will
be asked for next, and waiting for them takes longer than all that is done with them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from checkers.arrays import Ints32
from checkers.kernels import inlined
from checkers.kernels.tables import Cells, Rows

AHEAD = 4
"""So many operations: enough to be in time, and few enough to be still there."""


def fetch(column: Any, place: int) -> None:
    """Nothing comes of it but time; there need not be such a place."""


def _typed(typing: Any, column: Any, place: Any) -> Any:
    def lowered(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, given[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function: Any = cgutils.get_or_insert_function
        ask = function(builder.module, kind, "llvm.prefetch.p0i8")
        address = builder.bitcast(builder.gep(array.data, [given[1]]), byte)
        # To be read; to be kept as near as can be; data, not instructions.
        builder.call(ask, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(column, place), lowered


_prefetch: Any = intrinsic(_typed)


@overload(fetch, inline="always", strict=False)  # type: ignore[misc, unused-ignore]
def _fetch(column: Any, place: Any) -> Any:
    return lambda column, place: _prefetch(column, place)


@inlined
def look_ahead(turn: int, ops: Ints32, rows: Rows, cells: Cells) -> None:
    """Where the elements of an operation begin whose turn comes soon."""
    if turn + AHEAD < ops.size:
        element = rows.begin[ops[turn + AHEAD]]
        fetch(cells.key, element)
        fetch(cells.offset, element)
        fetch(cells.value, element)
        fetch(cells.number, element)
