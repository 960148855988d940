"""Everything here needs root, and says so by its mark."""

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.netns)
            if os.geteuid() != 0:
                item.add_marker(pytest.mark.skip(reason="hosts made of namespaces need root"))
