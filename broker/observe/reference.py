"""Writes docs/reference/metrics.md from the catalogue: `python -m broker.observe.reference`."""

from __future__ import annotations

import sys

from broker.observe.catalogue import CATALOGUE

_HEAD = """# Metrics

Served at `http://<reference.metrics.listener>/metrics`, for Prometheus. Names beginning with
`kafka_` are the ones that the usual rules of Prometheus' JMX exporter give to Kafka's own; names
beginning with `reference_` are this broker's. Rules to alert by are in [alerts.yml](../alerts.yml).

This page is written by `python -m broker.observe.reference`, and a test holds it to the code.

| metric | kind | labels | meaning |
|---|---|---|---|
"""


def metrics_page() -> str:
    lines = [_HEAD]
    for info in CATALOGUE:
        labels = ", ".join(info.labels)
        lines.append(f"| `{info.exported_name}` | {info.kind.value} | {labels} | {info.about} |\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(metrics_page())
