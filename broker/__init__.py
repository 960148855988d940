"""The reference broker: a partitioned log that speaks Kafka's wire protocol."""
