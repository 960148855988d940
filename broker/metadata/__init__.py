"""What the cluster knows of itself: topics, partitions, configurations."""
