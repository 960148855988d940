"""Writes docs/reference/metrics.md from the catalogue: `python -m broker.observe.reference`."""

from __future__ import annotations

import sys

from broker.observe.catalogue import CATALOGUE

_HEAD = """# Metrics

Use this page to monitor the reference broker with Prometheus. Set `reference.metrics.listener` and
read `/metrics` at that address. The [glossary](glossary.md) defines the terms:

```sh
cat > /tmp/metrics.properties <<'END'
node.id=1
listeners=PLAINTEXT://127.0.0.1:9092
log.dirs=/tmp/log-trial-metrics
reference.metrics.listener=127.0.0.1:9404
END
.venv/bin/broker format --config /tmp/metrics.properties
.venv/bin/broker start --config /tmp/metrics.properties &
sleep 5; curl -s http://127.0.0.1:9404/metrics | grep kafka_server; kill $!
```

Names that begin with `kafka_` are those that the usual rules of Prometheus' JMX exporter give to
Kafka's metrics. Names that begin with `reference_` exist only in this broker. Alerting rules are in
[alerts.yml](../alerts.yml).

`python -m broker.observe.reference` writes this page, and a test compares it with the code.

## Lag of groups

`reference_group_records_lag` is the number of records that a group has not committed yet, per
partition. [`broker groups describe`](groups.md) prints the same figure. The coordinator of a group
exports it, also for groups whose members are all gone. Partitions that another node leads are asked
for their log ends when `/metrics` is read, at most once a second and for 2 s at most; nothing is
computed while nobody reads. A partition whose leader does not answer has no lag until it does.

A node exports 10,000 committed offsets at most; `reference_group_offsets_left_out` counts the rest.
When a group gets another coordinator, the label `instance` changes. Use
`max by (group, topic, partition) (reference_group_records_lag)`, as the rules in
[alerts.yml](../alerts.yml) do: one for a lag above a limit, and one for a lag that grows.

## Transactions that hang

A transaction that stays open stops every reader of committed records at its first offset:
`kafka_cluster_partition_laststableoffsetlag` is the number of records that such readers wait for,
per partition. There are two reasons, and a rule in [alerts.yml](../alerts.yml) for each:

* The coordinator knows the transaction and has not ended it.
  `reference_transaction_oldest_open_seconds` grows beyond the time-out of the producer. While
  `reference_transactions_open{state="prepared"}` stays above 0, a partition takes no marker.
* No coordinator knows the transaction, so no time-out ends it.
  `kafka_server_replicamanager_partitionswithlatetransactionscount` counts the partitions that have
  one. [`broker transactions find-hanging`](transactions.md) names it, and `abort` ends it. The
  count begins anew when a broker starts.

The coordinator of a transactional id exports what is open, and counts what it decides in
`reference_transactions_ended_total` and whom it refuses in
`reference_transaction_producers_fenced_total`. Counters begin at 0 when a broker starts; sum the
rates of all nodes. Batches that a partition refuses for their epoch are in
`kafka_network_requestmetrics_errors_total{request="PRODUCE", error="INVALID_PRODUCER_EPOCH"}`.

## All metrics

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
