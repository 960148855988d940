"""Follows runs that are under way, from the topic of `harness test --history-topic`."""
