"""Anomalies of logs: what Jepsen's Kafka checker finds, by its names, and what it cannot see."""
