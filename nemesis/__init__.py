"""What breaks: faults, targets, schedules."""
