"""server.properties and topic configurations, by Kafka's names."""
