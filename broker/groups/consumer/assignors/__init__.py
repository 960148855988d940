"""Server-side assignors: pure functions from subscriptions to a target assignment."""

from __future__ import annotations

from collections.abc import Mapping

from broker.groups.consumer.assignors.range_assignor import assign_ranges
from broker.groups.consumer.assignors.spec import Assignor
from broker.groups.consumer.assignors.uniform import assign_uniformly

ASSIGNORS: Mapping[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}
"""By the names that clients send and `group.consumer.assignors` lists."""
