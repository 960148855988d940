"""Which properties of topics, brokers and clients a run takes; the others are refused with a reason.

Brokers and client libraries refuse what they do not know by themselves. Refused here is what they
would take, and what the harness or its verdict would not know of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from harness.run.property_values import whole_number

_MIN_ISR = "min.insync.replicas"


def refuse_properties(chosen: Mapping[str, Any]) -> None:
    """UsageError for the first property of the options that a run must not have."""
    _check_min_isr(chosen["topic_config"])


def _check_min_isr(topic_config: Mapping[str, str]) -> None:
    said = topic_config.get(_MIN_ISR)
    if said is None:
        return
    try:
        is_possible = whole_number(said) > 0
    except ValueError:
        is_possible = False
    if not is_possible:
        raise click.UsageError(
            f"--topic-config {_MIN_ISR}={said}: expected a whole number from 1 on; try {_MIN_ISR}=2"
        )
