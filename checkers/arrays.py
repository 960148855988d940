"""The types of columns."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints8: TypeAlias = npt.NDArray[np.int8]
Ints32: TypeAlias = npt.NDArray[np.int32]
Ints64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
