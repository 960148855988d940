"""What the cluster itself showed when all was healed, beside the history."""
