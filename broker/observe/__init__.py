"""What an operator sees: JSON logs, Prometheus metrics."""
