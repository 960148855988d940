"""Many stored histories on Spark."""
