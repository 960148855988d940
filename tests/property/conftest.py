"""Kernels as they are compiled: histories here are small, and plain twins would do for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checkers import kernels


@pytest.fixture(scope="package", autouse=True)
def compiled_kernels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "LITTLE", 0)
        yield
