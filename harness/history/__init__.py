"""What clients saw, row by row: recorded crash-safe, loaded as columns, told as nested values."""
