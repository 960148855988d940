"""The topics that brokers keep their own state in. Clients read them, and never write to them."""

from __future__ import annotations

GROUPS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"

INTERNAL_TOPICS = (GROUPS_TOPIC, TRANSACTIONS_TOPIC)
