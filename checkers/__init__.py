"""What is true: a history in, a verdict out; pure."""
