"""What brokers have stored, as the ground truth of a history."""
