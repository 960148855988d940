"""What is to happen in a run, as data: faults, crash points, operations, and their file."""
