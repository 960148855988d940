"""Random lives of a log: whatever happens to it, what was synced is there and nothing is torn."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.property.storage_rules import StorageMachine

TestStorage = StorageMachine.TestCase
TestStorage.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_lives() -> None:
    run_state_machine_as_test(
        StorageMachine,
        settings=settings(
            TestStorage.settings,
            max_examples=1200,
            stateful_step_count=60,
            report_multiple_bugs=False,
        ),
    )
