"""Reads histories of any kind into rows of the lake's tables. Knows nothing of Spark."""
