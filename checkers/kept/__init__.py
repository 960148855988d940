"""What must be kept: lists that grow, registers on compacted topics, topics and their settings."""
