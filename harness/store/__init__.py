"""Where runs are kept, and how one is found again."""
