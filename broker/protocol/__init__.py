"""Kafka's wire format: a leaf that imports nothing else of broker."""
